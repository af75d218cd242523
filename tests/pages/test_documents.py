"""JSON documents of made results hold what there is, and null where there is nothing."""

from collections.abc import Iterator
from typing import Any

import made_results as made


def test_a_document_is_null_only_where_there_is_nothing() -> None:
    """Parts that exist are documents of their own, absent ones null."""
    full, bare, empty = (
        one().to_json() for one in (made.made_evaluation, made.bare_evaluation, made.empty_evaluation)
    )
    assert full["provenance"]["name"] == "identity"
    assert full["coverage"]["evaluated"] == 1500
    assert full["control_cost"]["value"] == 12.5
    assert full["decompositions"]["brier"]["miscalibration"] > 0
    assert bare["provenance"] is bare["coverage"] is empty["decompositions"]["brier"] is None
    assert bare["control_cost"] is None
    window, blind = made.made_monitoring().to_json(), made.bare_monitoring().to_json()
    assert window["matured"]["figures"].keys() == full["figures"].keys()
    assert blind["matured"] is None
    assert (window["maturity"]["immature_share"], window["maturity"]["as_of"][:10]) == (0.2, "2026-04-01")
    backtest = made.made_backtest()
    document = backtest.to_json()
    assert document["periods"]["2026-01-01"] == {"genuine": 900, "frauds": 40}
    assert (document["data"]["from"], document["data"]["to"]) == (backtest.data.first, backtest.data.last)
    assert (document["data"]["records"], document["data"]["as_of"]) == (9000, "2026-04-02")


def test_a_document_has_the_numbers_of_the_result() -> None:
    """Values and ends stand under their own names, in the order low, high."""
    found = made.made_comparison()
    document = found.to_json()
    for name, one in found.differences.items():
        assert document["differences"][name] == {
            "value": one.value,
            "low": one.low,
            "high": one.high,
            "simultaneous_low": None,
            "simultaneous_high": None,
            "records": one.records,
            "count": None,
            "independent": None,
            "method": "none",
            "absence": "",
        }
    errors = {row["bound"]: row for row in made.made_evaluation().to_json()["stability"]}
    assert [row["verdict"] for row in errors.values()] == ["kept", "broken", "undecided"]
    share = errors["max_step_up"]["share"]
    assert (share["low"], share["high"], share["independent"], errors["max_step_up"]["days"]) == (
        0.16,
        0.25,
        40,
        40,
    )
    assert errors["max_step_up"]["worst"]["since"] == "2026-01-20"
    backtest = made.made_backtest().to_json()
    assert [one["verdict"] for one in backtest["promises"]] == [
        "kept", "broken", "undecided", "kept", "broken",
    ]  # fmt: skip
    assert backtest["differences"][1]["figures"]["missed_fraud"]["low"] == 0.01


def test_ends_of_a_document_lie_around_their_value() -> None:
    """Wherever a document has a low and a high they are in this order, and so are instants; the value lies between."""
    results = (made.made_evaluation(), made.made_comparison(), made.made_monitoring(), made.made_backtest())
    found = [one for result in results for one in objects(result.to_json())]
    ended = [one for one in found if one.get("low") is not None and one.get("high") is not None]
    assert len(ended) > 300
    assert all(one["low"] <= one["high"] for one in ended)
    figures = made.made_evaluation().to_json()["figures"]
    assert all(
        one["low"] <= one["value"] <= one["high"] for one in figures.values() if one["low"] is not None
    )
    dated = [one for one in found if one.keys() >= {"since", "until"} and one["until"] is not None]
    assert dated
    assert all(str(one["since"]) <= str(one["until"]) for one in dated)


def test_a_fold_holds_its_own_parts() -> None:
    """Each key of a fold names what stands there."""
    fold = made.made_backtest().to_json()["folds"][0]
    assert (fold["as_of"][:10], fold["split"]["train"], fold["failure"]) == ("2026-01-01", 0.68, None)
    assert [part["part"] for part in fold["parts"]] == ["burn-in", "train", "validation", "test"]
    assert (fold["step_up_from"], fold["fail_from"], fold["features"]) == (563, 1001, 40)
    assert (fold["promises"], fold["tuned"], fold["useless"]) == ([], None, {})
    assert fold["families"]["links"]["value"] == 0.6


def objects(value: Any) -> Iterator[dict[str, Any]]:
    """Every object inside a document."""
    if isinstance(value, dict):
        yield value
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list | tuple) else ()
    for one in inner:
        yield from objects(one)
