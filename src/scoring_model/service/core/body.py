"""Bodies of requests, by the models of the contract."""

from collections.abc import Mapping
from typing import TypeVar

from scoring_model.contract.body import Body, InvalidBody
from scoring_model.service.core.errors import Invalid

B = TypeVar("B", bound=Body)


def parsed(kind: type[B], body: Mapping[str, object], context: object = None) -> B:
    """Check a body and bring it into canonical form; see `Body.parse`.

    Raises
    ------
    Invalid
        With all violations.
    """
    try:
        return kind.parse(body, context)
    except InvalidBody as error:
        raise Invalid(error.violations, omitted=error.omitted) from None
