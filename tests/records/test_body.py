from hypothesis import given
from hypothesis import strategies as st

from scoring_model.contract.rules import Rule
from scoring_model.records.body import flatten
from scoring_model.records.problems import Problem

parts = st.dictionaries(st.sampled_from(["line1", "city", "x.y"]), st.integers())


@given(address=parts, signals=parts, name=st.integers())
def test_nested_and_dotted_bodies_are_the_same(
    address: dict[str, int], signals: dict[str, int], name: int
) -> None:
    """Writing the dots out gives what nesting gives, and a flat body stays as it is."""
    nested = {"firstName": name, "address": address, "signals": signals}
    flat, problems = flatten(nested)
    assert not problems
    assert flatten(flat) == (flat, [])
    assert flat == {
        "firstName": name,
        **{f"address.{part}": value for part, value in address.items()},
        **{f"signals.{part}": value for part, value in signals.items()},
    }


def test_null_parts_are_missing_and_others_are_refused() -> None:
    """Null is an empty object; text, numbers and lists are none."""
    assert flatten({"address": None, "signals": {}}) == ({}, [])
    flat, problems = flatten({"address": "Main St 1", "signals": [1]})
    assert flat == {}
    assert problems == [
        Problem("address", Rule.WRONG_TYPE, "must be an object, got str"),
        Problem("signals", Rule.WRONG_TYPE, "must be an object, got list"),
    ]


def test_a_field_comes_once() -> None:
    """A field that is both nested and dotted is ambiguous."""
    _, problems = flatten({"address": {"city": "a"}, "address.city": "b"})
    assert [(problem.field, problem.rule) for problem in problems] == [("address.city", Rule.REPEATED_FIELD)]
