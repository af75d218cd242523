"""How values of figures are written."""

from collections.abc import Callable

from scoring_model.evaluation.report.scales import percent, signed
from scoring_model.figures import FIGURES


def is_decimal(name: str) -> bool:
    """Whether a figure is no share of records, so that it is written as a number."""
    return FIGURES[name].unit == "number"


def value_writer(name: str) -> Callable[[float | None], str]:
    """Return what writes values of a figure."""
    return _decimal if is_decimal(name) else percent


def change_writer(name: str) -> Callable[[float], str]:
    """Return what writes differences of a figure: those of shares in percentage points."""
    return _signed_decimal if is_decimal(name) else _points


def _decimal(value: float | None) -> str:
    return "–" if value is None else f"{value:.4f}"


def _signed_decimal(value: float) -> str:
    return f"{value:+.4f}".replace("-", "\N{MINUS SIGN}")


def _points(value: float) -> str:
    return signed(100 * value)
