"""Resources as JSON."""

import json

import pytest

from scoring_model.contract.identity import Identity
from scoring_model.contract.resource import Resource, example
from scoring_model.contract.verification import Verification
from scoring_model.contract.webhook import Webhook


@pytest.mark.parametrize("kind", [Identity, Verification, Webhook])
def test_a_resource_that_was_read_is_written_alike(kind: type[Resource]) -> None:
    """JSON that a client reads is written with the same fields; times in UTC with six digits."""
    plain = example(kind)
    assert json.loads(kind.model_validate_json(json.dumps(plain)).to_json()) == plain
    moved = {**plain, "createdAt": "2024-05-01T12:00:00+02:00"}
    written = json.loads(kind.model_validate_json(json.dumps(moved)).to_json())
    assert written == {**plain, "createdAt": "2024-05-01T10:00:00.000000Z"}
