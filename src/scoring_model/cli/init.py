"""The command that proposes a configuration for a file."""

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from scoring_model.cli import console, shared
from scoring_model.cli.groups import Group, in_group

if TYPE_CHECKING:
    from scoring_model.configuration import Configuration
    from scoring_model.configuration.amazon_fraud_detector import Definition
    from scoring_model.configuration.proposal import Proposal

_Out = Annotated[Path, typer.Option(help="Configuration to write, such as configs/mine.yaml.")]
_Delay = Annotated[str | None, typer.Option(help="Time from an event until its label is known, such as 7d.")]
_Timezone = Annotated[
    str | None,
    typer.Option(
        help="Zone of times without one, and of the hours that features read, such as Europe/Berlin."
    ),
]
_Source = Annotated[
    Literal["amazon-fraud-detector"] | None,
    typer.Option("--from", help="Service whose file it is; see docs/amazon-fraud-detector.md."),
]
_Definition = Annotated[
    list[Path] | None,
    typer.Option(
        exists=True,
        dir_okay=False,
        help="Answer of that service about variables, labels or rules, JSON; may be given several times. [--from]",
    ),
]


@in_group(Group.DATA)
def init(
    paths: shared.Files,
    out: _Out,
    delay: _Delay = None,
    timezone: _Timezone = None,
    source: _Source = None,
    definition: _Definition = None,
    replace: shared.Replace = False,
) -> None:
    """Propose a configuration for files that are read as one: columns, labels, formats, signals, keys and windows.

    Comments in the file list the decisions left to a person, which are also printed, and the unused columns; see
    docs/your-data.md#what-init-proposes.
    """
    from scoring_model.configuration import load_configuration
    from scoring_model.configuration.amazon_fraud_detector import read_definition
    from scoring_model.configuration.proposal import propose
    from scoring_model.configuration.proposal.text import proposal_text
    from scoring_model.records import FileFormat, parse_duration
    from scoring_model.records.atomic import atomic_file

    if definition and source is None:
        raise ValueError("--definition needs --from, which says whose answers these are")
    known = None if source is None else read_definition(definition or ())
    rules = out.with_suffix(".rules.yaml") if known and known.rules else None
    for path_ in (out, rules):
        if path_ is not None and path_.exists() and not replace:
            raise FileExistsError(f"{path_} exists; pass --replace to overwrite it")
    if timezone is not None:
        FileFormat(timezone=timezone)  # refuses what is no zone, before the file is read
    given = None if delay is None else parse_duration(delay)
    if given == 0:
        raise ValueError("--delay must be longer than 0, such as 7d")
    taken = None if known is None else known.given
    found = propose(paths, delay=given, timezone=timezone, given=taken, report=console.report)
    out.parent.mkdir(parents=True, exist_ok=True)
    with atomic_file(out) as partial:
        partial.write_text(proposal_text(found, name=out.stem, source=_named(paths)), encoding="utf-8")
        configuration = load_configuration(partial)
    _say_read(paths, found, configuration)
    _say_proposed(out, found)
    if known is not None and rules is not None:
        _write_rules(rules, known, found)
    console.say(f"next: scoring-model check {' '.join(map(shlex.quote, map(str, paths)))} --config {out}")


def _named(paths: list[Path]) -> str:
    return paths[0].name if len(paths) == 1 else f"{paths[0].name} and {len(paths) - 1} more"


def _write_rules(path: Path, known: "Definition", found: "Proposal") -> None:
    """Write the rules of another service, and say which are not translated."""
    from scoring_model.configuration.amazon_fraud_detector import rules_of
    from scoring_model.contract.fields import signal_field
    from scoring_model.records.atomic import write_whole

    names = {column: name for name, column in found.fields.items()}
    names |= {signal.column: signal_field(signal.name) for signal in found.signals}
    text, decisions = rules_of(known, names, {signal_field(one.name): one.type for one in found.signals})
    write_whole(path, text)
    for decision in decisions:
        console.say(f"to decide: {decision}")
    console.say(f"{path}: {text.count('  then: ')} rules; next: scoring-model rules check {path} BUNDLE")


def _say_proposed(path: Path, found: "Proposal") -> None:
    """Say what was guessed, what is not used, and what is left to a person."""
    for guess in found.guesses:
        console.say(f"guessed: {guess}")
    for column, reason in found.left_out.items():
        console.say(f"not used: {column}: {reason}")
    for decision in found.decisions:
        console.say(f"to decide: {decision}")
    console.say(
        f"{path}: {len(found.fields)} fields, {len(found.signals)} signals, {len(found.keys)} link keys"
    )


def _say_read(paths: list[Path], found: "Proposal", configuration: "Configuration") -> None:
    """Say which rows are refused, which forms of dates are not read, what its keys do, and which columns may leak."""
    from scoring_model.contract.fields import EVENT_FIELDS
    from scoring_model.evaluation.telling_columns import check_columns
    from scoring_model.history.linked import key_uses
    from scoring_model.records.observation import targets_at
    from scoring_model.records.quarantine import count_violations, unread_forms
    from scoring_model.records.reading import read_records
    from scoring_model.records.times import later_than_now

    if "eventTime" not in found.fields or not (found.signals or found.fields.keys() - set(EVENT_FIELDS)):
        return
    console.report("reading the records as proposed: refused rows, columns that may leak, link keys")
    reading = read_records(paths, configuration.schema, labelled=False)
    for (name, rule), count in count_violations(reading).items():
        console.say(f"refused rows: {name or 'record'} {rule}: {count} of {reading.rows}")
    if forms := unread_forms(reading):
        console.say(f"to decide: {forms.removeprefix('; ')}")
    as_of = reading.table.latest_instant + 1
    if future := later_than_now(as_of):
        console.say(f"to decide: {future}")
    targets = targets_at(reading.table, as_of, configuration.training.split.label_maturity)
    asked = check_columns(reading.table, targets, configuration.feature_settings)
    if asked.is_open:
        console.say(f"to decide: {asked.sentence} ({asked.page})")
    for use in key_uses(reading.table, configuration.links.link_keys):
        console.say(f"link key {use}")
