import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

from scoring_model.synthetic.draws import Draws
from scoring_model.synthetic.people import households


def _household(draws: Draws, person: int, daily: float) -> int:
    """Follow one person to the founder, one step at a time."""
    key = np.array([person], dtype=np.uint64)
    if not draws.chance("household.joins", 0.3, key)[0]:
        return person
    span = 2.0 if draws.chance("household.soon", 0.4, key)[0] else 180.0
    back = int(draws.uniform("household.days", key)[0] ** 2 * span * daily) + 1
    return person if back > person else _household(draws, person - back, daily)


@pytest.mark.parametrize(("seed", "daily"), [(9, 20.0), (1, 0.001), (11, 3.0)])
def test_households_follow_their_chains(seed: int, daily: float) -> None:
    """The vectorised search finds the founder that following the chain finds."""
    draws = Draws(seed)
    people = np.arange(2000, dtype=np.uint64)
    found = households(draws, people, daily=daily)
    assert found.tolist() == [_household(draws, person, daily) for person in range(2000)]
    assert 0.6 < (found == people).mean() < 0.85


def test_all_persons_are_adults(history: pa.Table) -> None:
    """Nobody is under 18 or over 125, except by a typo."""
    birth = pc.cast(pc.strptime(history["dob"], format="%Y-%m-%d", unit="s"), pa.timestamp("us", tz="UTC"))
    ages = pc.years_between(birth, history["eventTime"]).drop_null().to_numpy()
    assert ages.min() >= 17
    assert ages.max() < 125
    assert 25 < np.median(ages) < 50


def test_people_verify_again(history: pa.Table) -> None:
    """About a quarter of the genuine records are of returning persons, often with the same device."""
    frame = history.filter(pc.equal(history["truth.kind"], "genuine")).to_pandas()
    again = frame.duplicated("truth.person")
    assert 0.15 < again.mean() < 0.35
    same = frame.groupby("truth.person")["signals.deviceId"].transform("nunique")[again] == 1
    assert 0.3 < same.mean() < 0.9
