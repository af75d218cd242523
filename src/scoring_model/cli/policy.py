"""The command that gives a bundle another policy."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from scoring_model.cli import console, option_groups, shared
from scoring_model.cli.groups import Group, in_group

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    from scoring_model.training.choice import Thresholds
    from scoring_model.training.policy_change import PolicyChange

_Threshold = typer.Option(
    min=1,
    max=1001,
    help="First score of this outcome; 1001: none. A certified pair: give the other threshold too.",
)


_Paths = Annotated[
    list[Path] | None,
    typer.Argument(
        metavar="[FILE...]",
        callback=shared.check_files,
        help="Fresh labelled records that certify the bounds, instead of the records that the bundle counts.",
    ),
]
_Config = Annotated[
    Path | None,
    typer.Option(
        exists=True,
        dir_okay=False,
        help="Configuration of the use, of which the policy is read; by default the bundle's.",
    ),
]


@dataclass(frozen=True, kw_only=True)
class _Pair:
    """A certified pair of thresholds, instead of the cheapest."""

    step_up_from: Annotated[int | None, _Threshold] = None
    fail_from: Annotated[int | None, _Threshold] = None

    def read(self) -> "Thresholds | None":
        """Return the pair, if it is given; refuse half of one."""
        from scoring_model.training.choice import Thresholds

        if self.step_up_from is None and self.fail_from is None:
            return None
        if self.step_up_from is None or self.fail_from is None:
            raise typer.BadParameter("--step-up-from and --fail-from must be given together")
        return Thresholds(step_up_from=self.step_up_from, fail_from=self.fail_from)


@dataclass(frozen=True, kw_only=True)
class _FreshRecords:
    """How the records that certify the bounds are read."""

    history: shared.History = None
    as_of: Annotated[str | None, typer.Option(help=shared.AS_OF)] = None
    max_bad_share: shared.MaxBadShare = 0.01
    names: shared.Names = None


@in_group(Group.MODELS)
def policy(
    bundle: shared.BundlePath,
    out: shared.NewBundle,
    pair: _Pair,
    fresh: _FreshRecords,
    loading: option_groups.Loading,
    paths: _Paths = None,
    config: _Config = None,
    replace: shared.Replace = False,
    signing_key: shared.SigningKey = None,
) -> None:
    """Seal a bundle again under another policy: the same model, other thresholds, certified promises.

    Needs no training. The bounds of the training keep their certificates; others are rounded up to a ladder, or
    certified by fresh records in FILE. The results of other thresholds are in `OUT.thresholds.csv`. See
    docs/configuration.md#another-policy-for-a-sealed-bundle.
    """
    from scoring_model.bundle import read_bundle
    from scoring_model.bundle.writer import check_place
    from scoring_model.records import microseconds
    from scoring_model.training.certification import InfeasiblePolicy
    from scoring_model.training.policy_change import change_policy

    thresholds = pair.read()
    check_place(out, replace=replace)
    key = shared.signing_key_of(signing_key)
    try:
        change = change_policy(
            read_bundle(bundle, public_key=loading.key),
            config,
            paths or None,
            thresholds=thresholds,
            history=fresh.history or [],
            as_of=None if fresh.as_of is None else microseconds(fresh.as_of),
            max_bad_share=fresh.max_bad_share,
            names=fresh.names,
            threads=loading.threads,
        )
    except InfeasiblePolicy as error:
        if error.alternatives is not None:
            _write_table(out, error.alternatives.to_csv())
        raise
    _write_table(out, change.alternatives.to_csv())
    _save(change, out, key, replace=replace)


def _write_table(out: Path, text: str) -> None:
    from scoring_model.records.atomic import write_whole

    table = out.with_name(f"{out.name}.thresholds.csv")
    write_whole(table, text)
    console.report(f"results of each pair of thresholds: {table}")


def _save(
    change: "PolicyChange", out: Path, signing_key: "Ed25519PrivateKey | None", *, replace: bool
) -> None:
    from scoring_model.scorer import Scorer

    change.save(out, signing_key=signing_key, replace=replace)
    manifest = Scorer.load(out).manifest
    for bound, (asked, promised) in change.rounded.items():
        console.say(f"{bound}: {promised:g} is promised, {asked:g} rounded up to the ladder")
    console.say(f"certified by: {change.evidence}")
    console.say(
        f"{out}: model {manifest.model_version}, policy {manifest.policy_version}: "
        f"STEPPED_UP from {change.policy.step_up_from}, FAILED from {change.policy.fail_from}"
    )
