import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scoring_model.contract.rules import Rule, RuleError
from scoring_model.contract.violation import Invalid
from scoring_model.records.labels import label_cell, label_rule, label_times
from scoring_model.records.schema import LabelSchema
from scoring_model.records.table import NEVER

moments = st.integers(0, 1000) | st.just(NEVER)


@pytest.mark.parametrize(
    ("cell", "meaning"),
    [
        (1, 1),
        (1.0, 1),
        ("1", 1),
        ("1.0", 1),
        (True, 1),
        ("True", 1),
        (" FRAUD ", 1),
        (0, 0),
        (np.int8(0), 0),
        ("0.00", 0),
        (False, 0),
        ("Genuine", 0),
        (None, None),
        ("", None),
        (float("nan"), None),
    ],
)
def test_one_label_has_many_spellings(cell: object, meaning: int | None) -> None:
    """Case, blanks and the type that a tool gave to a number or boolean change no label."""
    assert label_rule(LabelSchema())(label_cell(cell)) == meaning


@pytest.mark.parametrize(
    ("cell", "rule"), [(2, Rule.NOT_LISTED), ("maybe", Rule.NOT_LISTED), (0.5, Rule.WRONG_TYPE)]
)
def test_other_labels_are_refused(cell: object, rule: Rule) -> None:
    """A label that the schema does not spell is no label."""
    with pytest.raises(RuleError) as caught:
        label_rule(LabelSchema())(label_cell(cell))
    assert caught.value.type == rule


def test_the_schema_says_what_labels_mean() -> None:
    """Spellings of one's own replace the usual ones, in any case."""
    rule = label_rule(LabelSchema(fraud=("CB", "2"), genuine=("OK",)))
    assert [rule(label_cell(cell)) for cell in ("cb", 2.0, "ok")] == [1, 1, 0]
    with pytest.raises(RuleError):
        rule("fraud")


@pytest.mark.parametrize(("listed", "cell"), [("temiz", "TEMİZ"), ("TEMİZ", "temiz"), ("kayıp", "KAYIP")])
def test_turkish_words_have_one_case(listed: str, cell: str) -> None:
    """Python's lower case of `TEMİZ` has a dot more than `temiz`, and that of `KAYIP` has another i than `kayıp`."""
    assert label_rule(LabelSchema(genuine=(listed,)))(label_cell(cell)) == 0
    with pytest.raises(Invalid, match="is both fraud and genuine"):
        LabelSchema(fraud=(listed,), genuine=(cell,))


def test_words_that_say_neither_are_no_label() -> None:
    """An ignored word is a missing label, however it is spelt; it may not mean something else too."""
    label = label_rule(LabelSchema(ignored=("Pending", "9")))
    assert [label(label_cell(cell)) for cell in ("pending", " PENDING ", 9, 9.0, 1)] == [
        None,
        None,
        None,
        None,
        1,
    ]
    with pytest.raises(Invalid, match="'fraud' is both fraud and ignored"):
        LabelSchema(ignored=("fraud",))


@given(
    st.lists(st.tuples(st.sampled_from([-1, 0, 1]), moments, moments, moments)),
    st.none() | st.integers(0, 50),
)
def test_a_label_counts_from_the_later_of_known_and_reported(
    rows: list[tuple[int, int, int, int]], delay: int | None
) -> None:
    """By row: no label never counts; known is the file's word, else event and delay; reported may be later."""

    def counted(label: int, event: int, known: int, reported: int) -> int:
        if known == NEVER and delay is not None and event != NEVER:
            known = event + delay
        if label < 0 or known == NEVER:
            return NEVER
        return known if reported == NEVER else max(known, reported)

    labels, events, known, reported = (
        np.array([row[place] for row in rows], dtype=np.int64) for place in range(4)
    )
    times = label_times(labels.astype(np.int8), events, known, reported, delay)
    assert times.tolist() == [counted(*row) for row in rows]
