import numpy as np
import pytest

from scoring_model.synthetic.campaigns import Slice
from scoring_model.synthetic.draws import Draws
from scoring_model.synthetic.events import EventArray, Kind
from scoring_model.synthetic.hard_negatives import hard_negatives
from scoring_model.synthetic.seasons import Calendar

STUDENTS, OFFICE, HELPER, UPLOAD, FAMILY = range(5)


@pytest.fixture(scope="module")
def groups() -> list[EventArray]:
    """Plan the genuine groups of a slice of 200,000 records."""
    part = Slice(number=2, of=5, records=200_000)
    return hard_negatives(Draws(3), Calendar.over("2024-01-01", 24), part)


@pytest.mark.parametrize(
    ("group", "field", "least"),
    [
        (STUDENTS, "address", 2.5),
        (OFFICE, "device", 1.5),
        (HELPER, "device", 3.0),
        (UPLOAD, "image", 2.5),
        (FAMILY, "address", 2.0),
        (FAMILY, "device", 1.5),
        (FAMILY, "family", 2.0),
    ],
)
def test_each_group_shares_what_frauds_share(
    groups: list[EventArray], group: int, field: str, least: float
) -> None:
    """People of a house, office, helper, scanner or family share a value, and are different persons."""
    events = groups[group]
    assert len(events) / len(np.unique(events[field])) >= least
    assert len(np.unique(events["identity"])) == len(events)


def test_groups_are_genuine_and_outnumber_frauds(groups: list[EventArray]) -> None:
    """All are genuine: 3.6 % of all records, three times as many as there are frauds (1.2 %)."""
    events = np.concatenate(groups)
    assert (events["kind"] == Kind.GENUINE).all()
    assert len(events) / 200_000 == pytest.approx(0.036, rel=0.1)
