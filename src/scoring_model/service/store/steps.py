"""Steps of background tasks, which survive an outage of the database and their own faults."""

from collections.abc import Awaitable, Callable
from typing import TypeVar

from scoring_model.service.core.faults import log_fault
from scoring_model.service.store.errors import StoreUnavailable

T = TypeVar("T")


async def attempt(doing: str, step: Callable[[], Awaitable[T]]) -> T | None:
    """Run a step of a task; None if the database does not answer, or after a fault, which is logged.

    The next step retries. `doing` is a constant text without values of requests.
    """
    try:
        return await step()
    except StoreUnavailable:
        return None
    except Exception as error:
        log_fault(doing, error)
        return None
