"""The command that gives a bundle another policy."""

from pathlib import Path
from typing import Annotated

import typer

from scoring_model.cli import console, shared

_Threshold = typer.Option(
    min=1,
    max=1001,
    help="First score of this outcome; 1001: none. A certified pair: give the other threshold too.",
)


def policy(
    bundle: shared.BundlePath,
    out: shared.NewBundle,
    paths: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="[FILE...]",
            callback=shared.check_files,
            help="Fresh labelled records that certify the bounds, instead of the records that the bundle counts.",
        ),
    ] = None,
    config: Annotated[
        Path | None,
        typer.Option(
            exists=True,
            dir_okay=False,
            help="Configuration of the use, of which the policy is read; by default the bundle's.",
        ),
    ] = None,
    step_up_from: Annotated[int | None, _Threshold] = None,
    fail_from: Annotated[int | None, _Threshold] = None,
    history: shared.History = None,
    as_of: Annotated[str | None, typer.Option(help=shared.AS_OF)] = None,
    max_bad_share: shared.MaxBadShare = 0.01,
    replace: shared.Replace = False,
    signing_key: shared.SigningKey = None,
    public_key: shared.PublicKey = None,
    threads: shared.Threads = 2,
) -> None:
    """Seal a bundle again under another policy: the same model, other thresholds, certified promises.

    Needs no training. The bounds of the training keep their certificates; others are rounded up to a ladder, or
    certified by fresh records in FILE. The results of other thresholds are in `OUT.thresholds.csv`. See
    docs/configuration.md#another-policy-for-a-sealed-bundle.
    """
    from scoring_model.bundle import read_bundle
    from scoring_model.bundle.seal import load_private_key
    from scoring_model.bundle.writer import check_place
    from scoring_model.records import microseconds
    from scoring_model.records.atomic import atomic_file
    from scoring_model.scorer import Scorer
    from scoring_model.training.certification import InfeasiblePolicy
    from scoring_model.training.choice import Thresholds
    from scoring_model.training.policy_change import change_policy

    if (step_up_from is None) != (fail_from is None):
        raise typer.BadParameter("--step-up-from and --fail-from must be given together")
    check_place(out, replace=replace)
    key = None if signing_key is None else load_private_key(signing_key)
    table = out.with_name(f"{out.name}.thresholds.csv")

    def write_table(text: str) -> None:
        with atomic_file(table) as partial:
            partial.write_text(text, encoding="utf-8")
        console.report(f"results of each pair of thresholds: {table}")

    try:
        change = change_policy(
            read_bundle(bundle, public_key=shared.key_of(public_key)),
            config,
            paths or None,
            thresholds=None
            if step_up_from is None or fail_from is None
            else Thresholds(step_up_from=step_up_from, fail_from=fail_from),
            history=history or [],
            as_of=None if as_of is None else microseconds(as_of),
            max_bad_share=max_bad_share,
            threads=threads,
        )
    except InfeasiblePolicy as error:
        if error.alternatives is not None:
            write_table(error.alternatives.to_csv())
        raise
    write_table(change.alternatives.to_csv())
    change.save(out, signing_key=key, replace=replace)
    manifest = Scorer.load(out).manifest
    for bound, (asked, promised) in change.rounded.items():
        console.say(f"{bound}: {promised:g} is promised, {asked:g} rounded up to the ladder")
    console.say(f"certified by: {change.evidence}")
    console.say(
        f"{out}: model {manifest.model_version}, policy {manifest.policy_version}: "
        f"STEPPED_UP from {change.policy.step_up_from}, FAILED from {change.policy.fail_from}"
    )
