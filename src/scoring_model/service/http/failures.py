"""How often an address may fail to authenticate."""

import time
from typing import TYPE_CHECKING, Final

from starlette.types import Scope

from scoring_model.service.http.addresses import limited_address
from scoring_model.service.http.context import header_values
from scoring_model.service.http.errors import TooManyFailures
from scoring_model.service.http.quota import seconds_to_wait
from scoring_model.service.http.settings import HttpSettings

if TYPE_CHECKING:
    from scoring_model.service.service import Service

LIMITED_SECONDS: Final = 10.0
"""For which an address counts as limited after its last failure above the limit."""

MOST_LIMITED: Final = 4_096
"""Limited addresses that are known at a time; the oldest give way."""


class FailureLimit:
    """Counts failed authentications, and knows the addresses that are above the limit.

    Parameters
    ----------
    service : Service
    settings : HttpSettings
    """

    def __init__(self, service: "Service", settings: HttpSettings) -> None:
        self._service = service
        self._settings = settings
        self._limited: dict[str, float] = {}

    def is_limited(self, scope: Scope) -> bool:
        """Whether the address of a request failed too often a short time ago."""
        # Most of the time there is none, and the address need not be known.
        return bool(self._limited) and self._limited.get(self._address(scope), 0.0) > time.monotonic()

    async def count(self, scope: Scope) -> None:
        """Count a failure.

        Raises
        ------
        TooManyFailures
        """
        address = self._address(scope)
        bucket = await self._service.rate_limits.take_failure(address)
        if not bucket.allowed:
            self._note(address)
            raise TooManyFailures(seconds_to_wait(bucket))

    def _note(self, address: str) -> None:
        self._limited.pop(address, None)  # so that the order is that of the last failures
        while self._limited and (
            len(self._limited) >= MOST_LIMITED or next(iter(self._limited.values())) <= time.monotonic()
        ):
            del self._limited[next(iter(self._limited))]
        self._limited[address] = time.monotonic() + LIMITED_SECONDS

    def _address(self, scope: Scope) -> str:
        peer = scope.get("client")
        return limited_address(
            None if peer is None else peer[0],
            header_values(scope, b"x-forwarded-for"),
            self._settings.trusted_proxies,
        )
