import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

from scoring_model.synthetic.behaviour import form_seconds, mail_ages
from scoring_model.synthetic.draws import Draws

KEYS = np.arange(20_000, dtype=np.uint64)


def test_habits_drift(history: pa.Table) -> None:
    """Honest people use a VPN more often in the last third of the time than in the first."""
    genuine = history.filter(pc.equal(history["truth.kind"], "genuine"))["signals.vpn"]
    third = len(genuine) // 3
    first, last = (pc.mean(part.cast(pa.int8())).as_py() for part in (genuine[:third], genuine[-third:]))
    assert last > 1.2 * first


@pytest.mark.parametrize("share", [0.0, 0.3, 1.0])
def test_quick_forms_are_quick(share: float) -> None:
    """The share of forms that software fills in is the share of those below half a minute, or nearly so."""
    seconds = form_seconds(Draws(1), KEYS, quick=share)
    assert (seconds < 30).mean() == pytest.approx(0.04 + 0.86 * share, abs=0.03)


def test_mail_ages_are_whole_days() -> None:
    """Ages are whole days from 0 to 9,000, fresh ones mostly below a month."""
    ages = mail_ages(Draws(1), KEYS, fresh=0.5)
    assert (ages == np.floor(ages)).all()
    assert ages.min() == 0
    assert ages.max() == 9000
    assert (ages < 30).mean() == pytest.approx(0.5, abs=0.03)


def test_people_travel(history: pa.Table) -> None:
    """A few honest people in a hundred connect from another country than they live in."""
    genuine = history.filter(pc.equal(history["truth.kind"], "genuine"))
    abroad = pc.not_equal(genuine["signals.ipCountry"], genuine["address.country"])
    assert 0.04 < pc.mean(abroad.cast(pa.int8())).as_py() < 0.12
