"""The model card: the same text for the same values, and everything in it."""

from dataclasses import replace

import pytest

from scoring_model.bundle.card import (
    FeatureRow,
    MetricRow,
    ModelCard,
    PromiseRow,
    ScaleRow,
    SplitRow,
)

CARD = ModelCard(
    name="sign-up",
    model_version="sign-up-1a2b",
    policy_version="3c4d",
    purpose="Decide which applicants are checked by a person.",
    data_sha256="d" * 64,
    data_records=1000,
    data_from="2024-01-01T00:00:00.000000Z",
    data_to="2025-12-31T00:00:00.000000Z",
    step_up_from=325,
    fail_from=675,
    extrapolated_from=800,
    choice="The lowest thresholds.",
    splits=[
        SplitRow(part="train", since="2024-01-01", until="2024-06-01", records=600, genuine=590, frauds=10)
    ],
    metrics=[
        MetricRow(metric="AUC", value=0.912345, low=0.9, high=0.92),
        MetricRow(metric="Brier", value=None),
    ],
    promises=[
        PromiseRow(bound="max_false_reject", limit=0.002, confidence=0.95, observed=0.00123, records=30_000)
    ],
    scale=[
        ScaleRow(score=500, low=487, high=513, extrapolated=False),
        ScaleRow(score=1000, low=880, high=None, extrapolated=True),
    ],
    features=[FeatureRow(name="age", sentence="Age in years.", direction="lowers", reason=None)],
    protected=["age"],
    limits=["Rings of fraud are not independent."],
)


def lines(card: ModelCard) -> list[str]:
    """Return the lines of the card."""
    return card.to_markdown().splitlines()


def test_same_values_give_the_same_text() -> None:
    """The card is a function of its values: sequences of another type and a copy change nothing."""
    copied = replace(CARD, splits=tuple(CARD.splits), features=tuple(CARD.features))
    assert copied.to_markdown() == CARD.to_markdown()
    assert CARD.to_markdown().endswith("person.\n") is False
    assert CARD.to_markdown().endswith("independent.\n")


@pytest.mark.parametrize(
    "line",
    [
        "# sign-up",
        "Model `sign-up-1a2b`, policy `3c4d`.",
        "Decide which applicants are checked by a person.",
        "| train | 2024-01-01 | 2024-06-01 | 600 | 590 | 10 |",
        "| AUC | 0.9123 | 0.9 | 0.92 |",
        "| Brier | - | - | - |",
        "`PASSED` below a score of 325, `STEPPED_UP` from there, `FAILED` from 675.",
        "| max_false_reject | 0.002 | 0.95 | 0.00123 | 30000 |",
        "| 500 | 487 | 513 | no |",
        "| 1000 | 880 | - | yes |",
        "The lowest thresholds.",
        "| age | Age in years. | lowers | - |",
        "- age",
        "- Rings of fraud are not independent.",
    ],
)
def test_every_value_is_told(line: str) -> None:
    """Each value stands in its section."""
    assert line in lines(CARD)


def test_absent_parts_are_said_to_be_absent() -> None:
    """An empty table or list reads as none, a threshold that is never reached as never."""
    empty = replace(
        CARD,
        splits=(),
        metrics=(),
        promises=(),
        scale=(),
        features=(),
        protected=(),
        limits=(),
        fail_from=1001,
    )
    assert lines(empty).count("None.") == 7
    assert "`PASSED` below a score of 325, `STEPPED_UP` from there, `FAILED` never." in lines(empty)
    assert not any(line.startswith("|") for line in lines(empty))


def test_extrapolation_is_stated_only_where_it_happens() -> None:
    """The card names the first extrapolated score, unless the sample determines the whole scale."""
    assert "From 800 on the scale is extrapolated." in CARD.to_markdown()
    assert "extrapolated" not in replace(CARD, extrapolated_from=1001).to_markdown()


def test_text_can_not_break_the_layout() -> None:
    """A pipe, a line feed and a tag in a configured text end neither a table's row nor the text."""
    hostile = "a | b\n# c <script>"
    card = replace(
        CARD, purpose=hostile, features=[FeatureRow(name=hostile, sentence="", direction="", reason=hostile)]
    )
    assert len(lines(card)) == len(lines(CARD))
    assert "a \\| b # c &lt;script&gt;" in lines(card)
    assert "<script>" not in card.to_markdown()


def test_every_table_is_whole() -> None:
    """All rows of a table have as many cells as its header."""
    blocks = [block.splitlines() for block in CARD.to_markdown().split("\n\n") if block.startswith("|")]
    assert len(blocks) == 5
    for block in blocks:
        assert len({line.replace("\\|", "").count("|") for line in block}) == 1
