import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

KEYS = np.arange(20_000, dtype=np.uint64)


def test_habits_drift(history: pa.Table) -> None:
    """Genuine persons use a VPN more often in the last third of the period than in the first."""
    genuine = history.filter(pc.equal(history["truth.kind"], "genuine"))["signals.vpn"]
    third = len(genuine) // 3
    first, last = (pc.mean(part.cast(pa.int8())).as_py() for part in (genuine[:third], genuine[-third:]))
    assert last > 1.2 * first


def test_people_travel(history: pa.Table) -> None:
    """A few per cent of genuine persons connect from another country than they live in."""
    genuine = history.filter(pc.equal(history["truth.kind"], "genuine"))
    abroad = pc.not_equal(genuine["signals.ipCountry"], genuine["address.country"])
    assert 0.04 < pc.mean(abroad.cast(pa.int8())).as_py() < 0.12
