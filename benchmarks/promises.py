"""Laws 6 and 7 in simulation: how often a promise certified on a sample fails in its population.

In every draw the scale is fitted again, the thresholds are certified on the same records, and every certified threshold
is compared with the population: a draw counts as broken if any of them breaks its bound, whichever pair is chosen. At a
confidence of 95 % at most 5 % of the draws may be broken (7 % with rings of ten), and fresh records may lie outside of
their two-sample interval in at most 5 % of the draws, each within the error of the simulation. Otherwise the exit code
is 1. Worlds marked "to compare with" break the conditions of the promise.

A chooser who looks first sets bounds after seeing all results, and even the errors of the population. On the ladder of
bounds at most 5 % of the draws may leave this chooser any policy that breaks its promise; a quarter as many draws are
made, since each certifies all values of the ladder. Bounds that are tested as if they had been set before show what
the ladder is for.

Run as ``python benchmarks/promises.py [--draws N]``.
"""

import sys
from typing import Final

from shared.judging import arguments

from promise_simulation import (
    ANY,
    AS_IF_SET_BEFORE,
    CHEAPEST,
    LOWEST,
    ON_LADDER,
    World,
    fresh_shares_outside,
    simulate,
    simulate_chooser,
)
from scoring_model.evaluation.bounds import exact_share

NOMINAL: Final = 0.05
WITH_RINGS: Final = 0.07
SEED: Final = 20

JUDGED: Final = {
    "independent records": World(),
    "repeat persons, 4 records each": World(repeats=4, persons=1500),
    "rings of ten": World(rings=60, members=10),
    "rings of ten and repeat persons": World(rings=60, members=10, repeats=4, persons=1500),
}
COMPARED: Final = {
    "rings of ten, half of them shown as pairs": World(rings=60, members=10, hidden=0.5),
    "rings of ten, counted as ten": World(rings=60, members=10, counted=True),
    "repeat persons, counted as four": World(repeats=4, persons=1500, counted=True),
}


def share_text(count: int, draws: int) -> str:
    """Format a share of the draws with its exact 95 % interval."""
    share = exact_share(count, draws)
    return f"{share.value:6.2%} ({share.low:.2%} to {share.high:.2%})"


def surely_above(count: int, draws: int, limit: float) -> bool:
    """Return True if a share of the draws exceeds a limit by more than the simulation error."""
    low = exact_share(count, draws).low
    return low is not None and low > limit


def report_world(name: str, world: World, *, draws: int, judged: bool) -> bool:
    """Simulate one world and print the broken bounds; return True if it kept its promises."""
    tally = simulate(world, draws=draws, seed=SEED)
    print(f"\n{name}{'' if judged else ' (to compare with)'}: {tally.infeasible} draws promised nothing")
    for what, count in tally.broken.items():
        print(f"  {what:<22} {share_text(count, draws)}")
    limit = WITH_RINGS if world.members > 1 else NOMINAL
    kept = not any(surely_above(tally.broken[what], draws, limit) for what in (ANY, LOWEST, CHEAPEST))
    kept &= world.members == 1 or tally.broken[ANY] <= limit * draws
    kept &= tally.infeasible < draws / 2
    return kept or not judged


def report_chooser(name: str, world: World, *, draws: int) -> bool:
    """Simulate a chooser who looks first and print the share of broken draws; return True if the ladder holds."""
    tally = simulate_chooser(world, draws=draws, seed=SEED)
    print(
        f"\n{name}, a chooser who looks first, {draws} draws: {tally.infeasible} without a policy for three bounds"
    )
    print(f"  {ON_LADDER:<24} {share_text(tally.broken[ON_LADDER], draws)}")
    print(f"  {AS_IF_SET_BEFORE:<24} {share_text(tally.broken[AS_IF_SET_BEFORE], draws)} (to compare with)")
    return not surely_above(tally.broken[ON_LADDER], draws, NOMINAL)


def report_fresh(*, draws: int, records: int) -> bool:
    """Compare scales with fresh records and print how often they disagree; return True if they agree."""
    print(f"\nfresh records outside of the two-sample interval at 95 %, {records} records each")
    agreed = True
    for score, (outside, extrapolated) in fresh_shares_outside(
        draws=draws, records=records, seed=SEED
    ).items():
        note = " extrapolated: too many alone are counted" if extrapolated else ""
        print(f"  {score:>22} {share_text(outside, draws)}{note}")
        agreed &= not surely_above(outside, draws, NOMINAL)
    return agreed


def main() -> int:
    """Simulate every world."""
    parser = arguments(__doc__)
    parser.add_argument("--draws", type=int, default=2000)
    draws = parser.parse_args().draws
    print(
        f"{draws} draws each; share of draws in which a bound is broken, 95 % intervals of Clopper and Pearson"
    )
    kept = [report_world(name, world, draws=draws, judged=True) for name, world in JUDGED.items()]
    kept += [report_chooser(name, world, draws=max(draws // 4, 1)) for name, world in JUDGED.items()]
    kept.append(report_fresh(draws=draws, records=5000))
    for name, world in COMPARED.items():
        report_world(name, world, draws=draws, judged=False)
    print("\nkept" if all(kept) else "\nBROKEN")
    return int(not all(kept))


if __name__ == "__main__":
    sys.exit(main())
