"""JSON documents of made results hold what there is, and null where there is nothing."""

import made_results as made


def test_a_document_is_null_only_where_there_is_nothing() -> None:
    """Parts that exist are documents of their own, absent ones null; the cost of a control group is there with one."""
    full, bare, empty = (
        one().to_json() for one in (made.made_evaluation, made.bare_evaluation, made.empty_evaluation)
    )
    assert full["provenance"]["name"] == "identity"
    assert full["coverage"]["evaluated"] == 1500
    assert full["control_cost"]["value"] == 12.5
    assert full["decompositions"]["brier"]["miscalibration"] > 0
    assert bare["provenance"] is bare["coverage"] is empty["decompositions"]["brier"] is None
    assert "control_cost" not in bare
    window, blind = made.made_monitoring().to_json(), made.bare_monitoring().to_json()
    assert window["matured"]["figures"].keys() == full["figures"].keys()
    assert blind["matured"] is None


def test_a_document_has_the_numbers_of_the_result() -> None:
    """Values and ends stand under their own names, in the order low, high."""
    found = made.made_comparison()
    document = found.to_json()
    for name, one in found.differences.items():
        assert document["differences"][name] == {
            "value": one.value,
            "low": one.low,
            "high": one.high,
            "records": one.records,
        }
    errors = {row["bound"]: row for row in made.made_evaluation().to_json()["stability"]}
    assert [row["verdict"] for row in errors.values()] == ["kept", "broken", "undecided"]
    assert errors["max_step_up"]["day_blocks"] == {"low": 0.16, "high": 0.24, "days": 40}
    assert errors["max_step_up"]["worst_window"]["from"] == "2026-01-20"
    backtest = made.made_backtest().to_json()
    assert [one["verdict"] for one in backtest["promises"]] == [
        "kept", "broken", "undecided", "kept", "broken",
    ]  # fmt: skip
    assert backtest["differences"][1]["figures"]["missed_fraud"]["low"] == 0.01
