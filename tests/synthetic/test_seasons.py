import numpy as np
import pytest

from scoring_model.records.times import DAY
from scoring_model.synthetic.seasons import Calendar


def test_period_is_whole_months() -> None:
    """24 months from January of a leap year end with December; one month from the 10th ends on a 10th."""
    calendar = Calendar.over("2024-01-01", 24)
    assert np.datetime64(calendar.end, "us") == np.datetime64("2026-01-01")
    assert np.datetime64(calendar.start, "us") == np.datetime64("2024-01-01")
    assert np.datetime64(Calendar.over("2024-02-10", 1).end, "us") == np.datetime64("2024-03-10")


def test_instants_grow_and_stay_inside() -> None:
    """Shares from 0 to 1 give ascending instants in [start, end)."""
    calendar = Calendar.over("2024-01-01", 3)
    instants = calendar.instants(np.linspace(0, 1, 10_001))
    assert (np.diff(instants) >= 0).all()
    assert instants[0] == calendar.start
    assert instants[-1] == calendar.end - 1


def test_volume_has_seasons() -> None:
    """Volume is higher in December than August, on Mondays, at noon and in the second year."""
    calendar = Calendar.over("2024-01-01", 24)
    instants = calendar.instants(np.linspace(0, 1, 200_000, endpoint=False))
    when = instants.astype("datetime64[us]")
    month = when.astype("datetime64[M]").astype(int) % 12
    weekday = (instants // DAY + 3) % 7
    hour = instants // (DAY // 24) % 24
    assert (month == 11).sum() > 1.2 * (month == 7).sum()
    assert (weekday == 0).sum() > 1.2 * (weekday == 6).sum()
    assert (hour == 12).sum() > 3 * (hour == 3).sum()
    assert (when >= np.datetime64("2025-01-01")).sum() > 1.15 * (when < np.datetime64("2025-01-01")).sum()


def test_progress_is_elapsed_time() -> None:
    """Progress runs from 0 to 1 in proportion to time."""
    calendar = Calendar.over("2024-01-01", 12)
    middle = (calendar.start + calendar.end) // 2
    assert calendar.progress(np.array([calendar.start, middle, calendar.end])) == pytest.approx([0, 0.5, 1])
