"""Commands on two models: compare, promote."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from scoring_model.cli import console, option_groups, shared
from scoring_model.cli.bundles import (
    NOTHING_TO_EVALUATE,
    exiting_without_records,
    show,
    write_json,
)
from scoring_model.cli.database import settled
from scoring_model.cli.following import follow_verifications
from scoring_model.cli.groups import Group, in_group
from scoring_model.cli.past import chosen_source, read_past_records

if TYPE_CHECKING:
    from scoring_model.configuration import GateSettings
    from scoring_model.evaluation import Comparison
    from scoring_model.scorer import Scorer
    from scoring_model.training.promotion import Promotion

GATE_FAILED = 10
"""Exit code of a promotion whose gates hold but that improves nothing."""


_Champion = Annotated[Path, typer.Argument(help="Directory of the bundle that decides now.")]
_Challenger = Annotated[Path, typer.Argument(help="Directory of the bundle that may replace it.")]


@dataclass(frozen=True, kw_only=True)
class _Following:
    """Whether verifications are compared as they arrive."""

    follow: Annotated[
        bool, typer.Option("--follow", help="Compare verifications as they arrive until SIGTERM or Ctrl-C.")
    ] = False
    state: Annotated[
        Path | None,
        typer.Option(
            dir_okay=False, help="File that remembers how far --follow has come, for these two bundles."
        ),
    ] = None
    every: Annotated[str, typer.Option(help="Time between two summaries of --follow.")] = "60s"

    def check(self, database: str | None, output: option_groups.Output) -> None:
        """Refuse options of --follow without it, and those that it has no use for."""
        if self.follow != (self.state is not None):
            raise typer.BadParameter("--follow and --state belong together")
        if self.follow and (database is None or any(vars(output).values())):
            raise typer.BadParameter(
                "--follow needs --database, and takes neither --gate nor --json nor --report"
            )


@in_group(Group.MODELS)
def compare(
    champion: _Champion,
    challenger: _Challenger,
    past: option_groups.Past,
    following: _Following,
    output: option_groups.Output,
    records: option_groups.Records,
    judging: option_groups.PairJudging,
    loading: option_groups.Loading,
    paths: shared.OptionalFiles = None,
) -> None:
    """Compare the decisions of two bundles about the same labelled records, or about a service's verifications.

    Differences are challenger minus champion. Verifications are decided again with links as known then, and judged by
    the labels known now; what one bundle can't decide again is left out and counted. With --follow those that arrive
    are compared in this process, flips and summaries as lines of JSON; it goes on where --state ended, else at --since,
    by default now. See docs/report.md#what-is-compared.

    Exit codes: 11 no labelled records; with --gate 10 a gate failed, 11 not enough data, 12 a promise is broken.
    """
    from scoring_model.evaluation import NothingToEvaluate
    from scoring_model.evaluation import compare as compare_bundles

    past = chosen_source(paths, past, records)
    following.check(past.database, output)
    gates, bundles = output.gates(), (champion, challenger)
    old, new = (loading.scorer(bundle, records.names) for bundle in bundles)
    if past.database is not None and following.state is not None:
        follow_verifications(past, (old, new), following.state, every=following.every)
        return
    options = judging.arguments(gates, bundles, pair=True)
    with exiting_without_records(NothingToEvaluate):
        if past.database is None:
            found = compare_bundles(old, new, paths, **records.arguments(), **options)
        else:
            found = _compare_past(past, (old, new), records, **options)
    _present(found, gates, output)


def _present(found: "Comparison", gates: "GateSettings | None", output: option_groups.Output) -> None:
    """Write and print a comparison; exit with the code of its gates."""
    from scoring_model.evaluation import check_gates, comparison_summary

    gated = None if gates is None else check_gates(gates, found)
    write_json(output.json_path, found.to_json() | {"gates": None if gated is None else gated.to_json()})
    if output.report_path is not None:
        found.report(output.report_path, gates=gated)
    show(comparison_summary(found, gates=gated), gated, output.report_path)


def _compare_past(
    past: option_groups.Past,
    scorers: tuple["Scorer", "Scorer"],
    records: option_groups.Records,
    **options: Any,
) -> "Comparison":
    """Compare two bundles on the verifications of a service."""
    from scoring_model.evaluation import EvaluationOptions, compare_rows

    before = settled()
    chosen = EvaluationOptions.of(as_of=records.as_of or before, **options)
    read = read_past_records(past, scorers, before=before, by=chosen.by)
    old, new = (
        read.of(place, scorer, by=chosen.by, max_bad_share=records.max_bad_share)
        for place, scorer in enumerate(scorers)
    )
    return compare_rows(
        *scorers,
        (old, new),
        options=chosen,
        total=read.records.num_rows,
        files=(past.shown,),
        notes=read.describe(),
    )


_Gate = Annotated[Path, typer.Option(exists=True, dir_okay=False, help="Gates that must hold, YAML.")]
_First = Annotated[
    bool, typer.Option("--first", help="Accept that there is no champion: gates about one model decide.")
]
_Looks = Annotated[
    Path | None,
    typer.Option(
        dir_okay=False,
        help="Look again and again while labels mature, at a fixed error: file of the looks at this challenger.",
    ),
]


@in_group(Group.MODELS)
def promote(
    bundle: Annotated[Path, typer.Argument(help="Directory of the registered bundle.")],
    paths: shared.Files,
    gate: _Gate,
    tracking_uri: shared.Registry,
    records: option_groups.Records,
    judging: option_groups.PairJudging,
    loading: option_groups.Loading,
    first: _First = False,
    looks: _Looks = None,
    json_path: shared.JsonFile = None,
) -> None:
    """Make a registered bundle the champion if every gate holds and some figure is significantly better.

    The champion is fetched from the registry, where `train --tracking-uri` or `tracking sync` registered the bundle.
    The evidence becomes an artifact of its run; the JSON file has it also of a refusal. See docs/gates.md. Exit codes:
    10 a gate failed or nothing is better, 11 not enough data, 12 a promise is broken; then nothing changes. With
    --looks the answer is promote, keep (10) or wait (11).
    """
    from scoring_model.configuration import load_gates
    from scoring_model.evaluation import NothingToEvaluate
    from scoring_model.training.promotion import promote as promote_bundle

    gates = load_gates(gate)
    with exiting_without_records(NothingToEvaluate):
        done = promote_bundle(
            bundle,
            paths,
            gates=gates,
            uri=tracking_uri,
            first=first,
            looks=looks,
            options=records.arguments() | judging.arguments(gates, [bundle], pair=not first),
            names=records.names,
            public_key=loading.key,
            threads=loading.threads,
            report=console.report,
        )
    write_json(json_path, done.evidence)
    _answer(done)


def _answer(done: "Promotion") -> None:
    """Say whether a bundle is the champion; exit with a code of its own if it is not."""
    from scoring_model.evaluation import gates_summary
    from scoring_model.training.registry import CHAMPION

    console.say_markdown(gates_summary(done.report))
    if done.look is not None:
        console.say(str(done.look))
    if not done.promoted:
        console.say(f"version {done.version} of {done.name} is not promoted")
        if done.look is not None:
            raise typer.Exit(NOTHING_TO_EVALUATE if done.look.answer == "wait" else GATE_FAILED)
        raise typer.Exit(done.report.exit_code or GATE_FAILED)
    console.say(f"version {done.version} of {done.name} is the {CHAMPION}; evidence: {done.artifact}")
