"""The time left of a search, estimated from what its rungs have cost."""

import numpy as np
import pytest

from scoring_model.training.time_left import TrialTime, seconds_left


def ended(*seconds: float) -> TrialTime:
    """A trial that is over."""
    return TrialTime(seconds=seconds, ended=True)


def left(
    trials: list[TrialTime], *, rungs: int | None = 3, to_begin: int = 0, processes: int = 1
) -> float | None:
    """Estimate with one trial in two going on."""
    return seconds_left(trials, rungs=rungs, to_begin=to_begin, processes=processes, reduction=2)


def test_nothing_is_known_before_a_complete_trial() -> None:
    """While nobody knows what the last rung costs there is no estimate, however many trials were pruned."""
    assert left([ended(1.0), ended(1.0, 4.0)], rungs=None, to_begin=10) is None


def test_trials_to_come_cost_less_than_the_first() -> None:
    """After one complete trial of 1, 4 and 16 s each later one is expected to take 1 + 0.6 (4 + 0.6 * 16) s.

    One trial went on from either rung, and the prior counts four of which two did: 3 of 5.
    """
    assert left([ended(1.0, 4.0, 16.0)], to_begin=39) == pytest.approx(39 * (1 + 0.6 * (4 + 0.6 * 16)))


def test_survival_follows_what_was_seen() -> None:
    """Where of many trials one in ten goes on, the rungs above weigh a tenth."""
    trials = [ended(1.0, 10.0)] * 100 + [ended(1.0)] * 900
    assert left(trials, rungs=2, to_begin=1) == pytest.approx(1 + 0.1 * 10, rel=0.01)


def test_a_trial_under_way_needs_the_rest_of_its_rung_and_what_may_follow() -> None:
    """Three seconds into a rung of four one is left, and none when the rung takes longer than expected."""
    complete = ended(1.0, 4.0, 16.0)
    chance = (2 + 2) / (2 + 4)  # of the first rung: both trials went on
    beyond = (1 + 2) / (1 + 4) * 16.0
    for running, rest in ((3.0, 1.0), (9.0, 0.0)):
        under_way = TrialTime(seconds=(1.0,), ended=False, running=running)
        assert left([complete, under_way]) == pytest.approx(rest + beyond)
    new = TrialTime(seconds=(), ended=False)
    assert left([complete, new]) == pytest.approx(1.0 + 0.6 * (4.0 + beyond))
    assert left([complete, TrialTime(seconds=(1.0,), ended=False), new]) == pytest.approx(
        4.0 + beyond + 1.0 + chance * (4.0 + beyond)
    )


def test_processes_share_the_trials_to_come() -> None:
    """Two processes take half as long for many trials, and as long as one does for the last one."""
    complete = ended(1.0, 4.0, 16.0)
    alone, shared = (left([complete], to_begin=100, processes=processes) for processes in (1, 2))
    assert alone is not None
    assert shared == pytest.approx(alone / 2)
    last = TrialTime(seconds=(1.0, 4.0), ended=False)
    assert left([complete, last], processes=2) == pytest.approx(16.0)


def test_a_search_that_is_over_needs_no_time() -> None:
    """With nothing to begin and nothing under way the time left is 0."""
    assert left([ended(1.0, 4.0, 16.0), ended(1.0)]) == 0.0


def test_estimates_of_a_simulated_search_are_near_the_truth() -> None:
    """Of 40 trials whose better half climbs on, the estimate after the first is within a factor of two of the rest.

    As the old one, the mean of the trials so far times those to come, is not: it is five times too long.
    """
    ratios, naive = [], []
    for seed in range(20):
        generator = np.random.default_rng(seed)
        trials, reached = list[TrialTime](), dict[int, list[float]]()
        for _ in range(40):
            seconds = []
            for rung, cost in enumerate((1.0, 3.0, 9.0, 27.0)):
                seconds.append(cost * generator.lognormal(0, 0.4))
                values = reached.setdefault(rung, [])
                values.append(generator.random())
                if values[-1] < sorted(values, reverse=True)[max(len(values) // 2, 1) - 1]:
                    break
            trials.append(ended(*seconds))
        truth = sum(sum(trial.seconds) for trial in trials[1:])
        estimate = left(trials[:1], rungs=4, to_begin=39)
        assert estimate is not None
        ratios.append(estimate / truth)
        naive.append(39 * sum(trials[0].seconds) / truth)
    assert 0.5 < np.median(ratios) < 2
    assert np.median(naive) > 4
