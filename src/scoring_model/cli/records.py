"""Commands on files of records."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from scoring_model.cli import console, shared
from scoring_model.cli.groups import Group, in_group

if TYPE_CHECKING:
    from scoring_model.configuration import Configuration
    from scoring_model.findings import Finding
    from scoring_model.records.reading import Reading
    from scoring_model.records.table import RecordTable


def check_sources(sources: list[str]) -> list[str]:
    """Refuse sources that name no file; folders and URIs are listed later."""
    shared.check_files([Path(one) for one in sources if "://" not in one and not Path(one).is_dir()])
    return sources


def local_files(sources: list[str], out: str) -> list[Path]:
    """List the files of sources that are read as a whole: files, patterns and folders."""
    from scoring_model.batch.sources import list_files

    found: list[Path] = []
    for source in sources:
        files = list_files([source]) if Path(source).is_dir() else ()
        if "://" in source or any(file.partitions for file in files):
            raise typer.BadParameter(
                f"{source}: a URI, or files in folders named column=value, are read for a folder as --out, such as "
                f"{Path(out).stem}/"
            )
        found += (
            [Path(file.location) for file in files] if files else shared.check_files([Path(source)]) or []
        )
    return found


@in_group(Group.DATA)
def synth(
    path: Annotated[Path, typer.Argument(help="File to write: .parquet, .csv or .jsonl.")],
    records: Annotated[int, typer.Option(min=1, help="Number of records.")] = 200_000,
    seed: Annotated[int, typer.Option(min=0, help="The same seed gives the same bytes.")] = 7,
    months: Annotated[int, typer.Option(min=1, help="Length of the history.")] = 24,
    start: Annotated[str, typer.Option(help="First day of the history, YYYY-MM-DD.")] = "2024-01-01",
    truth: Annotated[bool, typer.Option(help="Add truth.kind and truth.person, not for models.")] = False,
) -> None:
    """Invent a labelled history: people, households, fraud rings. Nothing in it is real.

    The extension of the file sets its format; its folder must exist.
    """
    from scoring_model.synthetic import write

    with console.progress("inventing records", records) as progress:
        write(
            path,
            records=records,
            seed=seed,
            start=start,
            months=months,
            truth=truth,
            progress=progress,
        )
    console.say(f"{records:,} invented records in {path}")


_Quarantine = Annotated[
    Path | None,
    typer.Option(help="CSV file for the violations: row, field, rule, detail, recordId, file."),
]
_Refused = Annotated[
    Path | None, typer.Option(help="CSV file for the refused rows, of mode 0600: personal data.")
]


@in_group(Group.DATA)
def check(
    paths: shared.Files,
    config: shared.Config,
    quarantine: _Quarantine = None,
    refused: _Refused = None,
    names: shared.Names = None,
    as_json: shared.Json = False,
) -> None:
    """Check records against the contract, and report the violations by field and rule, never by value.

    Also reports what is guessed (separator, encoding, forms of dates), how many rows without a recordId are copies of
    an earlier one, how many records have each link key and how many of its values recur, and warns of link windows
    that are too short to ever hold a known fraud (no longer than the shortest time from a fraud to its known label
    here, or without frauds than records.labels.delay), with the features that are therefore constant, of frauds that
    become known after training.split.label_maturity, of columns that may be known only after the decision, of signals
    without a column, of a latest time that has not come yet, and of a control group that is too small. Says for how
    many applicants nobody can know what they were, since they were stopped. Exit code 1: the share of bad rows is above
    records.max_bad_share.
    """
    from scoring_model.configuration import load_configuration
    from scoring_model.evaluation.stopped import whom
    from scoring_model.history.linked import key_uses, unusable
    from scoring_model.records.quarantine import accept, check_unread, write_quarantine, write_refused
    from scoring_model.records.reading import read_records, without_columns
    from scoring_model.records.sources import file_paths
    from scoring_model.records.times import later_than_now

    configuration = load_configuration(config).with_names(names)
    for written in filter(None, (quarantine, refused)):
        check_unread(written, file_paths(paths) or ())
    reading = read_records(paths, configuration.schema, labelled=False)
    if quarantine is not None:
        write_quarantine(reading, quarantine)
    if refused is not None:
        write_refused(paths, reading, configuration.records.format, refused)
    findings = _checked(reading.table, configuration)
    found = _found(reading) | {
        "applicants": whom(reading.table, configuration.training.split.label_maturity, configuration.schema)
    }
    uses = key_uses(reading.table, configuration.links.link_keys) if len(reading.table) else ()
    absent = without_columns(reading.table, configuration.schema)
    future = later_than_now(reading.table.latest_instant + 1)
    if as_json:
        found |= {"linkKeys": [use.to_json() for use in uses]}
        console.say_json({**found, "findings": [finding.to_json() for finding in findings]})
    else:
        _say(found, {"linkKeys": uses, "findings": findings})
        for warning in filter(None, (unusable(uses), _copies(found), absent, future)):
            console.warn(warning)
    accept(reading, max_share=configuration.records.max_bad_share)


def _say(found: Mapping[str, object], lists: Mapping[str, Sequence[object]]) -> None:
    for name, value in found.items():
        console.say(f"{name}: {console.in_words(value)}")
    for name, lines in lists.items():
        if lines:
            console.say(f"{name}:")
        for line in lines:
            console.say(f"  {line}")


def _copies(found: Mapping[str, object]) -> str:
    """Say that rows stand twice; empty if none does."""
    if not found["copies"]:
        return ""
    return (
        f"{found['copies']:,} rows have the instant and all values of an earlier one, and without a recordId count as "
        "other records: name records.columns.recordId, or leave them out"
    )


def _checked(table: "RecordTable", configuration: "Configuration") -> "tuple[Finding, ...]":
    """Check windows, late frauds, columns that may be known too late, and the size of the control group."""
    from scoring_model.evaluation.checks import check_control
    from scoring_model.evaluation.late_frauds import KnownFrauds, check_late_frauds
    from scoring_model.evaluation.stopped import ControlGroup, control_days
    from scoring_model.evaluation.telling_columns import check_columns
    from scoring_model.features.blind_windows import check_windows
    from scoring_model.findings import arranged
    from scoring_model.records.observation import targets_at

    as_of, maturity = table.latest_instant + 1, configuration.training.split.label_maturity
    targets = targets_at(table, as_of, maturity)
    weights = None if table.propensities is None else 1.0 / table.propensities
    since = int(table.event_times.min()) if len(table) else as_of
    days = control_days(table, since=since, until=table.latest_instant)
    delay = configuration.records.labels.delay
    findings = [
        check_windows(table, configuration.feature_settings, configured_delay=delay),
        check_late_frauds(KnownFrauds.of(table), as_of=as_of, maturity=maturity, records=len(table)),
        check_columns(table, targets, configuration.feature_settings),
        check_control(ControlGroup.of(weights, targets), days=days, records=len(table)),
    ]
    return arranged(findings, mute=configuration.findings.mute)


def _found(reading: "Reading") -> dict[str, object]:
    """Count what a file holds, and what was refused of it."""
    from secrets import token_bytes

    import numpy as np

    from scoring_model.history.digests import SECRET_BYTES, content_digests
    from scoring_model.records import rfc3339
    from scoring_model.records.quarantine import count_violations

    table, copies = reading.table, 0
    if reading.ids is None:
        contents = content_digests(table, token_bytes(SECRET_BYTES))
        copies = len(table) - len(np.unique(contents, axis=0))
    return {
        "rows": reading.rows,
        "good": len(table),
        "bad": reading.rows - len(table),
        "copies": copies,
        "frauds": int((table.labels == 1).sum()),
        "genuine": int((table.labels == 0).sum()),
        "from": rfc3339(int(table.event_times.min())) if len(table) else None,
        "to": rfc3339(int(table.event_times.max())) if len(table) else None,
        "fields": {name: int((column.codes >= 0).sum()) for name, column in table.columns.items()},
        "unusedColumns": list(reading.unused_columns),
        "guessed": list(reading.guesses),
        "problems": [
            {"field": field, "rule": rule, "rows": count}
            for (field, rule), count in count_violations(reading).items()
        ],
    }
