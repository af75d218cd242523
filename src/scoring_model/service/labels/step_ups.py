"""What step-ups cost and find, measured by how they ended."""

import math
from collections import Counter
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from typing import Final, NamedTuple

from scoring_model.contract.outcome import Outcome
from scoring_model.contract.resolution import Result
from scoring_model.estimates import Estimate
from scoring_model.evaluation.bounds import exact_share
from scoring_model.findings import Code, Finding, checked, not_applicable
from scoring_model.service.labels.report import LabelDelays
from scoring_model.service.store import Reader, Store

LEAST_FRAUDS: Final = 10
"""Known frauds of the control group that a measured effectiveness needs."""

_PAGE: Final = 5_000
_Z: Final = 1.959963984540054
_FRAUD: Final = "fraud"


@dataclass(frozen=True, slots=True, kw_only=True)
class StepUps:
    """How step-ups ended, of completed verifications with the final outcome STEPPED_UP.

    Parameters
    ----------
    stepped_up : int
    by_method : mapping of str to mapping of str to int
        Numbers by method and result.
    frauds : Estimate
        Share of known frauds among the approved, with an exact interval: young ones may become known later.
    effectiveness : Estimate
        Share of frauds that a step-up stops: 1 minus the frauds among the resolved that were approved, divided by the
        share of frauds in the control group of those who would be stepped up. The resolved are those who might have
        been drawn for it: neither step-ups of rules and lists, nor those from before there was a control group.
    """

    stepped_up: int
    by_method: Mapping[str, Mapping[str, int]]
    frauds: Estimate
    effectiveness: Estimate

    def count(self, result: str) -> int:
        """Number with a result, by any method."""
        return sum(counts.get(result, 0) for counts in self.by_method.values())

    @property
    def unresolved(self) -> int:
        """Number without a resolution."""
        return self.stepped_up - sum(map(self.count, Result))


class _Last(NamedTuple):
    verification: bytes
    result: str
    method: str
    might_pass: bool


async def _resolved(reader: Reader) -> AsyncIterator[list[_Last]]:
    """Read the latest resolution of each stepped-up verification, a page at a time."""
    after = (b"", 0, b"")
    waiting: list[_Last] = []
    while rows := await reader.resolved(after, _PAGE):
        for verification, created_at, resource, result, method, might_pass in rows:
            if waiting and waiting[-1].verification == verification:
                waiting.pop()
            waiting.append(_Last(verification, result, method, bool(might_pass)))
            after = (verification, created_at, resource)
        yield waiting[:-1]  # the last verification may have more on the next page
        del waiting[:-1]
    yield waiting


async def measure_step_ups(store: Store, labels: LabelDelays) -> StepUps:
    """Count how step-ups ended, and what those who were approved turned out to be.

    Parameters
    ----------
    labels : LabelDelays
        What the labels of the same database cover.
    """
    counts: Counter[tuple[str, str]] = Counter()
    frauds = missed = resolved = 0
    async with store.reading() as reader:
        async for page in _resolved(reader):
            counts.update((one.method, one.result) for one in page)
            approved = [one.verification for one in page if one.result == Result.APPROVED]
            told = await reader.labels(approved) if approved else {}
            known = {about for about, every in told.items() if every and every[-1][0] == _FRAUD}
            frauds += len(known)
            resolved += sum(one.might_pass for one in page)
            missed += sum(one.might_pass and one.verification in known for one in page)
    methods: dict[str, dict[str, int]] = {}
    for (method, result), count in sorted(counts.items()):
        methods.setdefault(method, {})[result] = count
    approved_count = sum(count for (_, result), count in counts.items() if result == Result.APPROVED)
    control = labels.control.get(Outcome.STEPPED_UP)
    return StepUps(
        stepped_up=labels.coverage[Outcome.STEPPED_UP].verifications,
        by_method=methods,
        frauds=exact_share(frauds, approved_count),
        effectiveness=_effectiveness(
            missed,
            resolved,
            0 if control is None else control.fraud,
            0 if control is None else control.verifications,
        ),
    )


def _effectiveness(missed: int, resolved: int, control_frauds: int, control: int) -> Estimate:
    """Compare the frauds that got through with those of whom nothing was asked.

    The interval is that of a ratio of two shares on the scale of logarithms (Katz et al. 1978, doi:10.2307/2530610),
    with half a record added where no fraud got through.
    """
    if control_frauds < LEAST_FRAUDS or not resolved:
        return Estimate(value=None, records=control, count=control_frauds, absence="not enough data")
    through = max(missed, 0.5)
    ratio = (through / resolved) / (control_frauds / control)
    half = _Z * math.sqrt(1 / through - 1 / resolved + 1 / control_frauds - 1 / control)
    value = 1 - (missed / resolved) / (control_frauds / control)
    return Estimate(
        value=value,
        low=1 - ratio * math.exp(half),
        high=1 - ratio * math.exp(-half) if missed else 1.0,
        records=resolved,
        count=missed,
        method="deviations",
    )


def check_step_ups(found: StepUps, assumed: float | None) -> Finding:
    """Compare the measured effectiveness with that of `policy.costs.step_up_effectiveness`.

    Parameters
    ----------
    assumed : float or None
        None: the policy has no costs.
    """
    code, measured = Code.STEP_UPS, found.effectiveness
    if assumed is None:
        return not_applicable(code, "the policy has no costs, so that nothing is assumed of step-ups")
    if measured.value is None or measured.low is None or measured.high is None:
        reason = f"the control group of step-ups has {measured.count or 0:,} known frauds, {LEAST_FRAUDS} are needed"
        return not_applicable(code, reason, records=measured.records)
    outside = not measured.low <= assumed <= measured.high
    ends = f"95 %: {max(measured.low, 0):.0%} to {measured.high:.0%}"
    return checked(
        code,
        f"step-ups stop {max(measured.value, 0):.0%} of frauds ({ends}); the costs assume {assumed:.0%}",
        count=int(outside),
        records=measured.records,
        figures={"assumed": assumed, "measured": measured.value},
    )
