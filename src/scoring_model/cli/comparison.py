"""Commands on two models: compare, promote."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from scoring_model.cli import console
from scoring_model.cli.bundles import (
    NOTHING_TO_EVALUATE,
    By,
    GatesFile,
    History,
    Labels,
    MaxBadShare,
    PublicKey,
    Threads,
    grouped,
    key_of,
)
from scoring_model.cli.records import Files

if TYPE_CHECKING:
    from scoring_model.evaluation import Comparison, GateReport

Champion = Annotated[Path, typer.Argument(help="Directory of the bundle that decides now.")]
Challenger = Annotated[Path, typer.Argument(help="Directory of the bundle that may replace it.")]
Report = Annotated[Path | None, typer.Option("--json", help="File for the whole comparison as JSON.")]
AsOf = Annotated[
    str | None,
    typer.Option(help="Instant before which labels count; by default just after the last one known."),
]
LabelMaturity = Annotated[
    str | None,
    typer.Option(
        help="Age after which an unlabelled record counts as genuine, such as 60d; by default the bundles'."
    ),
]
MaturedOnly = Annotated[
    bool, typer.Option("--matured-only", help="Leave out records younger than the label maturity.")
]


def compare(
    champion: Champion,
    challenger: Challenger,
    paths: Files,
    json_path: Report = None,
    history: History = None,
    labels: Labels = None,
    by: By = None,
    gate: GatesFile = None,
    max_bad_share: MaxBadShare = 0.01,
    as_of: AsOf = None,
    label_maturity: LabelMaturity = None,
    matured_only: MaturedOnly = False,
    public_key: PublicKey = None,
    threads: Threads = 2,
) -> None:
    """Compare the decisions of two bundles about the same labelled records.

    Exit codes: 11 no labelled records; with --gate 10 a gate failed, 11 not enough data, 12 a promise is broken.
    """
    from scoring_model.configuration import load_gates
    from scoring_model.evaluation import NothingToEvaluate, check_gates, comparison_summary
    from scoring_model.evaluation import compare as compare_bundles
    from scoring_model.scorer import Scorer

    key, gates = key_of(public_key), None if gate is None else load_gates(gate)
    scorers = [Scorer.load(path, public_key=key, threads=threads) for path in (champion, challenger)]
    try:
        found = compare_bundles(
            *scorers,
            paths,
            history=history,
            labels=labels,
            by=grouped(by, gates),
            as_of=as_of,
            label_maturity=label_maturity,
            matured_only=matured_only,
            max_bad_share=max_bad_share,
        )
    except NothingToEvaluate as error:
        console.fail(str(error))
        raise typer.Exit(NOTHING_TO_EVALUATE) from None
    report = None if gates is None else check_gates(gates, found)
    write_comparison(json_path, found, report)
    console.say_markdown(comparison_summary(found))
    if report is not None:
        console.say_markdown(report.to_markdown())
        raise typer.Exit(report.exit_code)


def comparison_document(found: "Comparison", report: "GateReport | None") -> dict[str, Any]:
    """Return a comparison with its gates as a JSON document."""
    return found.to_json() | {"gates": None if report is None else report.to_json()}


def write_comparison(path: Path | None, found: "Comparison", report: "GateReport | None") -> None:
    """Write a comparison with its gates, if a path is given."""
    from scoring_model.records.atomic import atomic_file

    if path is not None:
        with atomic_file(path) as partial:
            text = json.dumps(comparison_document(found, report), indent=2)
            partial.write_text(text + "\n", encoding="utf-8")
