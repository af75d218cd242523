"""Commands on labels."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from scoring_model.cli import console, shared
from scoring_model.cli.database import masters_of, with_store
from scoring_model.cli.groups import Group, in_group

if TYPE_CHECKING:
    from collections.abc import Iterator

    from scoring_model.findings import Finding
    from scoring_model.service.core.clock import Clock
    from scoring_model.service.keys.keyring import Keyring
    from scoring_model.service.labels.imports import Imported, LabelLine
    from scoring_model.service.labels.report import LabelDelays
    from scoring_model.service.labels.step_ups import StepUps
    from scoring_model.service.store import Store

app = in_group(Group.DATA)(typer.Typer(name="labels", help="Labels of verifications.", no_args_is_help=True))


@app.command("import")
def import_file(
    path: shared.ImportedFile,
    database: shared.Database,
    client: Annotated[
        str | None, typer.Option(help="Client whose imported records recordId names; only such rows need it.")
    ] = None,
    master_key: shared.MasterKey = None,
    as_json: shared.Json = False,
) -> None:
    """Import labels of verifications and of imported records. Importing again changes nothing; unknown ids are listed.

    Columns: verificationId, identityId or recordId; label (fraud, genuine or withdrawn); knownAt. If any row breaks a
    rule, nothing is imported and the first such rows are listed. The master key is read for rows with a recordId alone.
    See docs/service-records.md#labels.
    """
    from scoring_model.contract.texts import to_text
    from scoring_model.service.core.clock import SystemClock
    from scoring_model.service.labels.files import check_labels, read_labels

    clock = SystemClock()
    at = clock.now()
    keyring = None
    if check_labels(path, at=at):
        if client is None:
            raise ValueError("recordId: names a record of one client: give the client (--client)")
        keyring = masters_of(database, master_key)
    lines = read_labels(path, at=at)
    found = with_store(database, lambda store: _import(store, lines, clock, client, keyring))
    unknown, too_many = (
        [name if isinstance(name, str) else to_text(name) for name in names]
        for names in (found.unknown, found.too_many)
    )
    if as_json:
        counts = {"imported": found.imported, "repeated": found.repeated}
        console.say_json({**counts, "unknown": unknown, "tooMany": too_many, "omitted": found.omitted})
        return
    console.say(f"{found.imported:,} labels imported, {found.repeated:,} were known already")
    for text in unknown:
        console.say(f"unknown: {text}")
    for text in too_many:
        console.say(f"has too many labels already: {text}")
    if found.omitted:
        console.say(f"and {found.omitted} more rows like these")


@app.command()
def report(
    database: shared.Database,
    bundle: Annotated[
        Path | None,
        typer.Option(help="Bundle whose assumption about step-ups is compared with what was measured."),
    ] = None,
    as_json: shared.Json = False,
) -> None:
    """Report how late labels of fraud come, what they cover, where they contradict each other, and how step-ups end.

    Young verifications show short delays only: Lynden-Bell's estimator allows for that, and holds for frauds that
    become known within the age of the oldest one. Imported records are not counted. Servers may keep running.
    """
    from dataclasses import asdict

    from scoring_model.service.core.clock import SystemClock
    from scoring_model.service.labels.report import label_delays
    from scoring_model.service.labels.step_ups import measure_step_ups

    async def measure(store: Store) -> tuple[LabelDelays, StepUps]:
        labels = await label_delays(store, SystemClock())
        return labels, await measure_step_ups(store, labels)

    found, step_ups = with_store(database, measure)
    finding = None if bundle is None else _checked(step_ups, bundle)
    if as_json:
        checked = {} if finding is None else {"finding": finding.to_json()}
        console.say_json({**asdict(found), "step_ups": asdict(step_ups), **checked})
        return
    _say_labels(found)
    _say_step_ups(step_ups)
    if finding is not None:
        console.say(str(finding))
    console.say(
        f"{found.conflicts} verifications have contradicting labels; {found.withdrawn} have a withdrawn one"
    )


def _say_labels(found: LabelDelays) -> None:
    """Say how late labels come, and what they cover."""
    if found.maturity_days is None:
        console.say("no fraud is labelled yet, so that no delay is known")
    else:
        console.say(
            f"known frauds: {found.frauds:,} verifications, the oldest {found.observed_days:.0f} days old. "
            f"95 % are known within {found.maturity_days:.1f} days, of those that become known within that age."
        )
    for day, share in found.curve.items():
        console.say(f"  within {day:3} days  {share:6.1%}")
    control = {
        f"of PASSED in the control group, otherwise {name}": one for name, one in found.control.items()
    }
    for outcome, covered in {**found.coverage, **control}.items():
        console.say(
            f"{outcome}: {covered.verifications} verifications, {covered.fraud} fraud, {covered.genuine} genuine, "
            f"{covered.verifications - covered.fraud - covered.genuine} without a label"
        )
    for outcome, repeats in sorted(found.control_repeats.items()):
        console.say(
            f"{outcome}: {repeats} verifications of persons who had passed in the control group before"
        )


def _checked(step_ups: StepUps, bundle: Path) -> Finding:
    """Compare what was measured with what the costs of a bundle assume."""
    from scoring_model.bundle import CONFIGURATION, read_bundle
    from scoring_model.bundle.codec import read_json
    from scoring_model.service.labels.step_ups import check_step_ups

    costs = read_json(read_bundle(bundle).file(CONFIGURATION))["policy"].get("costs")
    return check_step_ups(step_ups, None if costs is None else costs["step_up_effectiveness"])


def _say_step_ups(found: StepUps) -> None:
    """Say how step-ups ended; of whom it is not known what they were."""
    from scoring_model.contract.resolution import Result

    approved, declined, abandoned = map(found.count, Result)
    console.say(
        f"{found.stepped_up} step-ups: {approved} approved, {declined} declined, {abandoned} abandoned, "
        f"{found.unresolved} without a resolution"
    )
    for method, counts in found.by_method.items():
        console.say(
            f"  {method}: " + ", ".join(f"{count} {result.lower()}" for result, count in counts.items())
        )
    if found.frauds.low is not None and found.frauds.high is not None:
        console.say(
            f"{found.frauds.count} of {found.frauds.records} approved are known frauds so far "
            f"({found.frauds.value or 0:.1%}, 95 %: {found.frauds.low:.1%} to {found.frauds.high:.1%})"
        )
    if declined + abandoned:
        console.say(
            f"what the {declined + abandoned} declined and abandoned were is not known: a resolution is no label"
        )
    effect = found.effectiveness
    if effect.value is None or effect.low is None or effect.high is None:
        console.say(
            "how many frauds step-ups stop can't be known: the control group of step-ups has "
            f"{effect.count or 0} known frauds, 10 are needed"
        )
    else:
        console.say(
            f"step-ups stop {max(effect.value, 0):.0%} of frauds, measured against the control group (95 %: "
            f"{max(effect.low, 0):.0%} to {effect.high:.0%})"
        )


async def _import(
    store: Store, lines: Iterator[LabelLine], clock: Clock, client: str | None, keyring: Keyring | None
) -> Imported:
    from scoring_model.service.clients.clients import find_client
    from scoring_model.service.keys.secrets import load_or_create
    from scoring_model.service.labels.imports import RecordNames, import_labels

    records = None
    if client is not None and keyring is not None:
        records = RecordNames(await find_client(store, client), await load_or_create(store, keyring))
    async with store.reading() as reader:
        clients = await reader.clients()
    return await import_labels(store, clients, lines, clock, records=records)
