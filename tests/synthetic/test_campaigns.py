import numpy as np
import pytest

from scoring_model.synthetic.campaigns import LONGEST, Plot, Slice, gather
from scoring_model.synthetic.draws import Draws
from scoring_model.synthetic.frauds import BURST, INVENTED, RING, STOLEN
from scoring_model.synthetic.seasons import Calendar

CALENDAR = Calendar.over("2024-01-01", 24)
SLICES = 40


def _records(plot: Plot, first: int, last: int) -> int:
    """Count the records of the groups that begin in these slices of a history of 4,000,000."""
    parts = (Slice(number=number, of=SLICES, records=100_000) for number in range(first, last))
    return sum(len(gather(Draws(1), CALENDAR, part, plot).events) for part in parts)


@pytest.mark.parametrize("plot", [RING, INVENTED, STOLEN, BURST], ids=lambda plot: plot.name)
def test_groups_make_up_their_share_as_it_drifts(plot: Plot) -> None:
    """In the first and the last tenth of a large history each kind of campaign has its configured share."""
    first, last = _records(plot, 0, 4), _records(plot, SLICES - 4, SLICES)
    assert first / 400_000 == pytest.approx(plot.share_at(0.05), rel=0.12)
    assert last / 400_000 == pytest.approx(plot.share_at(0.95), rel=0.12)


def test_members_of_a_group_differ_and_stay_near() -> None:
    """Keys of members are distinct, and no group lasts longer than the limit."""
    members = gather(Draws(1), CALENDAR, Slice(number=3, of=SLICES, records=100_000), RING)
    assert len(np.unique(members.events["key"])) == len(members.events)
    for group in np.unique(members.group):
        times = members.events["time"][members.group == group]
        assert np.ptp(times) <= LONGEST
