import hashlib
import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scoring_model.contract.outcome import OUTCOMES, Outcome
from scoring_model.decision.document import DocumentError
from scoring_model.decision.rules import Policy, Promise

PROMISE = Promise(bound="max_step_up", limit=0.05, delta=0.025, observed=0.04, records=3000, p_value=0.01)
thresholds = st.tuples(st.integers(1, 1001), st.integers(1, 1001)).map(sorted)


@given(thresholds)
def test_outcome_follows_from_the_score_and_two_thresholds(pair: list[int]) -> None:
    """Below `step_up_from` passes, `fail_from` and more fails, the rest is stepped up; one score as many."""
    policy = Policy(step_up_from=pair[0], fail_from=pair[1])
    bands = (
        [Outcome.PASSED] * pair[0]
        + [Outcome.STEPPED_UP] * (pair[1] - pair[0])
        + [Outcome.FAILED] * (1001 - pair[1])
    )
    assert [policy.outcome(score) for score in range(1001)] == bands
    codes = policy.outcomes(np.arange(1001, dtype=np.int64))
    assert codes.dtype == np.int8
    assert [OUTCOMES[code] for code in codes] == bands


@pytest.mark.parametrize("pair", [(0, 5), (6, 5), (5, 1002), (1002, 1002)])
def test_thresholds_out_of_range_or_order_are_refused(pair: tuple[int, int]) -> None:
    """Thresholds lie in 1..1001 and the first is at most the second."""
    with pytest.raises(ValueError, match="1 <= step_up_from <= fail_from <= 1001"):
        Policy(step_up_from=pair[0], fail_from=pair[1])


@given(thresholds, st.lists(st.just(PROMISE), max_size=3))
def test_document_reads_back_exactly(pair: list[int], promises: list[Promise]) -> None:
    """A policy that went through JSON text is equal and keeps its version, whatever the order of its keys."""
    policy = Policy(step_up_from=pair[0], fail_from=pair[1], promises=tuple(promises))
    document = json.loads(json.dumps(policy.to_json(), allow_nan=False))
    again = Policy.from_json(dict(reversed(document.items())))
    assert again == policy
    assert again.version == policy.version


def test_version_distinguishes_policies() -> None:
    """Another threshold or another promise is another version, that of the SHA-256 of canonical JSON."""
    policies = [
        Policy(step_up_from=300, fail_from=700),
        Policy(step_up_from=301, fail_from=700),
        Policy(step_up_from=300, fail_from=701),
        Policy(step_up_from=300, fail_from=700, promises=(PROMISE,)),
    ]
    assert len({policy.version for policy in policies}) == len(policies)
    canonical = b'{"fail_from":700,"promises":[],"step_up_from":300}'
    assert policies[0].version == hashlib.sha256(canonical).hexdigest()[:16]


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"fail_from": True}, "fail_from"),
        ({"fail_from": 700.0}, "fail_from"),
        ({"step_up_from": 701}, "fail_from"),
        ({"version": "x"}, "version"),
        ({"promises": {}}, "promises"),
        ({"promises": [{"bound": "max_step_up"}]}, "promises"),
        ({"promises": [PROMISE.__class__.__name__]}, "promises"),
    ],
)
def test_malformed_documents_are_refused(change: dict[str, object], problem: str) -> None:
    """A document with an unknown field or a value that breaks its rule is refused by the field's name."""
    document = Policy(step_up_from=300, fail_from=700).to_json() | change
    with pytest.raises(DocumentError, match=problem):
        Policy.from_json(document)


@pytest.mark.parametrize(
    "change", [{"limit": 1.5}, {"p_value": "0"}, {"records": -1}, {"records": 1.0}, {"bound": 1}]
)
def test_malformed_promises_are_refused(change: dict[str, object]) -> None:
    """The shares of a promise are in [0, 1], its records a count, its bound text."""
    document = Policy(step_up_from=300, fail_from=700, promises=(PROMISE,)).to_json()
    document["promises"][0] |= change
    with pytest.raises(DocumentError, match="promises"):
        Policy.from_json(document)


@pytest.mark.parametrize("document", [None, [], "policy"])
def test_what_is_no_object_is_refused(document: object) -> None:
    """A document is an object, not a list, text or null."""
    with pytest.raises(DocumentError, match="must be an object"):
        Policy.from_json(document)  # type: ignore[arg-type]
