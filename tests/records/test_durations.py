"""Durations and instants in settings: text becomes microseconds, anything else is refused."""

from dataclasses import dataclass

import pytest
from pydantic import TypeAdapter, ValidationError

from scoring_model.records import Duration, Instant, format_duration


@dataclass(frozen=True)
class Settings:
    """Settings with one of each."""

    length: Duration = 0
    instant: Instant | None = None
    lengths: tuple[Duration, ...] = ()


ADAPTER = TypeAdapter(Settings)


@pytest.mark.parametrize(
    ("text", "microseconds"), [("90d", 7_776_000_000_000), ("24h", 86_400_000_000), ("30m", 1_800_000_000)]
)
def test_text_becomes_microseconds(text: str, microseconds: int) -> None:
    """A duration is read wherever it stands, and a number of microseconds stays what it is."""
    settings = ADAPTER.validate_python({"length": text, "lengths": [text, microseconds]})
    assert settings.length == microseconds
    assert settings.lengths == (microseconds, microseconds)
    assert ADAPTER.validate_python({"length": format_duration(microseconds)}).length == microseconds


def test_instants_are_dates_or_times() -> None:
    """A date is its midnight in UTC, and an instant may be none."""
    assert ADAPTER.validate_python({"instant": "1970-01-02"}).instant == 86_400_000_000
    assert ADAPTER.validate_python({"instant": "1970-01-01T00:00:01Z"}).instant == 1_000_000
    assert ADAPTER.validate_python({"instant": None}).instant is None


@pytest.mark.parametrize(
    "plain",
    [
        {"length": "soon"},
        {"length": 1.5},
        {"length": None},
        {"length": "5 parsecs"},
        {"instant": "yesterday"},
    ],
)
def test_anything_else_is_refused_by_field(plain: dict[str, object]) -> None:
    """What is neither is an error of its field, not an accident."""
    with pytest.raises(ValidationError) as caught:
        ADAPTER.validate_python(plain)
    assert {error["loc"][0] for error in caught.value.errors()} == set(plain)
