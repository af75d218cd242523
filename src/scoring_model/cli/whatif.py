"""The command that decides past verifications again with another bundle."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Annotated, Any

import typer

from scoring_model.cli import console, shared
from scoring_model.cli.database import settled, time_of, with_store
from scoring_model.cli.groups import Group, in_group
from scoring_model.cli.past import first_of, with_past

if TYPE_CHECKING:
    from scoring_model.scorer import Scorer
    from scoring_model.service.keys.secrets import Secrets
    from scoring_model.service.past.tried import Hits, Tried
    from scoring_model.service.past.whatif import WhatIf


_Bundle = Annotated[
    Path | None,
    typer.Option(
        exists=True,
        file_okay=False,
        help="Bundle that decides again; by default the active one.",
    ),
]
_Out = Annotated[Path, typer.Option(help="File to write: .parquet, both verdicts of each verification.")]
_Policy = Annotated[
    Path | None,
    typer.Option(
        exists=True,
        dir_okay=False,
        help="Another policy for the bundle, YAML: keys of the section policy of a configuration, the others as in "
        "the bundle, and thresholds (step_up_from, fail_from). It must be certified, as for `policy`.",
    ),
]
_Lists = Annotated[
    Path | None,
    typer.Option("--lists", exists=True, dir_okay=False, help="Lists to try, YAML (docs/lists.md)."),
]
_By = Annotated[
    list[str] | None,
    typer.Option(
        metavar="COLUMN",
        help="Field, signal or ageBand to count by, besides the client; may be repeated.",
    ),
]


@in_group(Group.DECISIONS)
def whatif(
    database: shared.Database,
    out: _Out,
    bundle: _Bundle = None,
    policy: _Policy = None,
    report: shared.ReportFile = None,
    by: _By = None,
    rules: shared.RulesFile = None,
    lists: _Lists = None,
    since: shared.Since = None,
    master_key: shared.MasterKey = None,
    public_key: shared.PublicKey = None,
    as_json: shared.Json = False,
) -> None:
    """Show what another bundle would have decided about past verifications, with links and labels as known then.

    It must have the link keys and amounts of the history. The database is only read. Follow-ups are decided
    again too, whether or not the bundle would have asked for them; what can't be decided again is counted by its
    reason. --rules and --lists show whom they would have hit, and what else would have changed.
    See docs/service-bundles.md#what-another-bundle-would-have-decided.
    """
    from scoring_model.service.activation.activations import serving_bundle
    from scoring_model.service.past.whatif import what_if

    scorer = _scorer(bundle or with_store(database, serving_bundle), policy, public_key)
    before = settled()
    ask = partial(what_if, out=out, since=first_of(since), before=before, by=by or ())
    with console.progress("deciding again") as progress:
        found = with_past(
            database,
            master_key,
            [scorer],
            lambda store, vault, secrets: ask(
                store, vault, secrets, scorer, tried=_tried(scorer, secrets, rules, lists), progress=progress
            ),
        )
    if report is not None:
        _write_report(found, scorer, before, report)
    if as_json:
        console.say_json({"out": str(out), **_json(found)})
    else:
        _show(found, out)


def _write_report(found: WhatIf, scorer: Scorer, before: int, out: Path) -> None:
    from scoring_model.evaluation.report import write_html
    from scoring_model.service.past.whatif_report import whatif_report

    name, sentences = scorer.manifest.name, scorer.sentences
    write_html(whatif_report(found, name=name, sentences=sentences, before=before), out)
    console.report(f"report: {out}")


def _tried(scorer: Scorer, secrets: Secrets, rules: Path | None, lists: Path | None) -> Tried | None:
    """Read the rules and lists that are tried."""
    from scoring_model.configuration.rules import load_rules
    from scoring_model.service.operator_lists.files import read_lists
    from scoring_model.service.past.tried import Tried

    if rules is None and lists is None:
        return None
    return Tried(
        None if rules is None else load_rules(rules, scorer.rule_names),
        () if lists is None else read_lists(lists),
        columns=scorer.matrix.names,
        link_keys=scorer.matrix.link_keys,
        secrets=secrets,
        step_ups=scorer.contents.schema.step_ups,
    )


def _scorer(bundle: Path, policy: Path | None, public_key: Path | None) -> Scorer:
    """Load a bundle, under another policy if one is given."""
    from scoring_model.scorer import Scorer

    if policy is None:
        return Scorer.load(bundle, public_key=shared.key_of(public_key))
    from scoring_model.bundle import read_bundle
    from scoring_model.training.policy_change import change_policy, read_policy

    sealed = read_bundle(bundle, public_key=shared.key_of(public_key))
    settings, thresholds = read_policy(policy, sealed)
    change = change_policy(sealed, settings, thresholds=thresholds)
    for bound, (asked, promised) in change.rounded.items():
        console.report(f"{bound}: {promised:g} is promised, {asked:g} rounded up to the ladder")
    with TemporaryDirectory() as folder:
        return Scorer.load(change.save(Path(folder) / "bundle"))


def _json(found: WhatIf) -> dict[str, Any]:
    from dataclasses import asdict

    from scoring_model.decision.flips import FRAUD, GENUINE, kinds
    from scoring_model.service.past.replay import NOT_REPLAYED

    outcomes = sorted(kinds(found.matrix), key=lambda kind: kind[:2])
    return {
        "modelVersion": found.model_version,
        "policyVersion": found.policy_version,
        "verifications": found.verifications,
        "replayed": found.replayed,
        "from": time_of(found.first),
        "to": time_of(found.last),
        "days": found.days,
        "differ": found.differ,
        "outcomes": [
            {"then": then.value, "whatif": new.value, "verifications": int(counts.sum())}
            for then, new, counts in outcomes
        ],
        "flips": [
            {
                "then": then.value,
                "whatif": new.value,
                "verifications": int(counts.sum()),
                "frauds": int(counts[FRAUD]),
                "genuine": int(counts[GENUINE]),
                "reasons": dict(found.reasons[then, new].most_common()),
            }
            for then, new, counts in outcomes
            if then != new
        ],
        "groups": {
            column: [{"value": value, **asdict(group)} for value, group in groups.items()]
            for column, groups in found.groups.items()
        },
        "sameBundle": {"replayed": found.own, "differ": found.own_differ},
        "hits": [_hit(one, found.days) for one in found.hits],
        "notReplayed": {name: found.left_out.get(name, 0) for name in NOT_REPLAYED},
    }


def _hit(one: Hits, days: int) -> dict[str, Any]:
    return {
        "kind": one.kind,
        "name": one.name,
        "then": one.then,
        "hits": one.hits,
        "perDay": one.hits / max(days, 1),
        "frauds": one.frauds,
        "genuine": one.genuine,
        "observed": one.observed,
        "notObserved": one.not_observed,
        "decided": one.decided,
        "changed": one.changed,
    }


def _show(found: WhatIf, out: Path) -> None:
    from scoring_model.decision.flips import kinds
    from scoring_model.service.past.replay import NOT_REPLAYED

    console.say(
        f"{found.replayed} of {found.verifications} verifications decided again: {found.flipped} outcomes differ, and "
        f"of the others {found.differ - found.flipped} scores or reasons: {out}"
    )
    for then, new, counts in sorted(kinds(found.matrix), key=lambda kind: kind[:2]):
        console.say(f"{counts.sum():>10}  {then} then, {new} by the bundle")
    for one in found.hits:
        daily = one.hits / max(found.days, 1)
        console.say(
            f"{one.kind} {one.name} ({one.then}): {one.hits} hits, {daily:{',.1f' if daily >= 1 else '.2g'}} a day; "
            f"{one.frauds} known frauds, {one.genuine} genuine, {one.observed} let pass and {one.not_observed} stopped "
            f"without a label; decides {one.decided}, of which {one.changed} get another outcome"
        )
    if found.own:
        console.say(
            f"{found.own} of them had been decided by this bundle: "
            f"{found.own_differ} differ in verdict or feature row"
        )
    for name, text in NOT_REPLAYED.items():
        if left_out := found.left_out.get(name):
            console.say(f"not decided again: {left_out} {text}")
