"""Lists: filters, hashes by which references are found, cursors, and merged pages."""

import asyncio
import base64
import hmac
import json
import struct
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, TypeVar

from scoring_model.service.core.rows import IdentityRow, VerificationRow
from scoring_model.service.keys.secrets import Purpose, Secrets
from scoring_model.service.store import EARLIEST, FIRST, Page, Position, Store, lists

R = TypeVar("R", VerificationRow, IdentityRow)

_POSITION: Final = struct.Struct("<q16s")
_MAC: Final = 16
NO_RESOLUTION: Final = "NONE"
"""Stands for the result of a resolution where there is none."""

CURSOR_LENGTH: Final = -(-4 * (_POSITION.size + _MAC) // 3)

Listed = tuple[list[R], Position | None]
"""Rows of a page, latest first, and where the next page begins; None on the last one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ListFilter:
    """What a list of verifications or identities holds; None filters nothing. Each list uses those that it has.

    Parameters
    ----------
    created_after, created_before : int or None
        Both exclusive, microseconds since 1970-01-01 UTC.
    subject_id, external_id : str or None
        References of the client, canonical.
    resolution : str or None
        A `Result`, that of the latest resolution, or ``NONE``.
    """

    created_after: int | None = None
    created_before: int | None = None
    outcome: str | None = None
    status: str | None = None
    identity_id: bytes | None = None
    subject_id: str | None = None
    external_id: str | None = None
    model_version: str | None = None
    resolution: str | None = None

    def begin(self, after: Position | None) -> Position:
        """Return the position after which a page begins."""
        if after is not None:
            return after
        return FIRST if self.created_before is None else Position(self.created_before, b"")

    @property
    def earliest(self) -> int:
        """The instant after which rows were created."""
        return EARLIEST if self.created_after is None else self.created_after


class Cursors:
    """Writes and reads cursors: positions with a MAC, so that a client can neither make one nor use one elsewhere."""

    def __init__(self, secrets: Secrets) -> None:
        self._secrets = secrets

    def write(self, client: int, path: str, query: Mapping[str, str], position: Position) -> str:
        """Write the cursor of a position in a client's list with these filters."""
        packed = _POSITION.pack(*position)
        place = json.dumps([client, path, sorted(query.items())]).encode()
        mac = self._secrets.digest(Purpose.CURSOR, packed + place, size=_MAC)
        return base64.urlsafe_b64encode(packed + mac).rstrip(b"=").decode()

    def read(self, client: int, path: str, query: Mapping[str, str], cursor: str) -> Position | None:
        """Read a cursor; None unless `write` made it for the same client, path and filters."""
        if len(cursor) != CURSOR_LENGTH or not cursor.isascii():
            return None
        try:
            packed = base64.b64decode(cursor + "=" * (-len(cursor) % 4), b"-_", validate=True)
        except ValueError:
            return None
        position = Position(*_POSITION.unpack(packed[: _POSITION.size]))
        known = self.write(client, path, query, position)
        return position if hmac.compare_digest(cursor, known) else None


Pause = Callable[[], Awaitable[None]]
"""Lets other requests go first."""


async def _iteration() -> None:
    await asyncio.sleep(0)


async def read_page(store: Store, page: Page, pause: Pause = _iteration) -> tuple[list[Any], Position | None]:
    """Read a page of a list, latest first. `pause` is awaited before every statement that checks filters.

    Returns
    -------
    rows : list of Row
        At most `page.limit`; with filters perhaps fewer although more follow.
    end : Position or None
        Where the next page begins; None if this is the last one.
    """
    if not page.filters:
        async with store.reading() as reader:
            return await reader.page(page)
    matching: list[Position] = []
    end: Position | None = page.after
    left = lists.SCAN
    while end is not None and left and len(matching) <= page.limit:
        await pause()
        step = min(lists.STEP, left)
        async with store.reading() as reader:  # a connection is not kept while others go first
            found, end = await reader.check(replace(page, after=end), step)
        matching += found
        left -= step
    async with store.reading() as reader:
        rows = await reader.listed(page.index.kind, [position.id for position in matching[: page.limit]])
    return rows, matching[page.limit - 1] if len(matching) > page.limit else end


def merged(parts: Sequence[Listed[R]], limit: int) -> Listed[R]:
    """Merge pages of lists that have no row in common into one page of their union."""
    ends = [end for _, end in parts if end is not None]
    # Beyond the first end, one of the lists may have further rows.
    reached = max(ends, default=None)
    rows = sorted((row for found, _ in parts for row in found), key=_position, reverse=True)
    if reached is not None:
        rows = [row for row in rows if _position(row) >= reached]
    if len(rows) > limit:
        return rows[:limit], _position(rows[limit - 1])
    return rows, reached


def _position(row: VerificationRow | IdentityRow) -> Position:
    return Position(row.created_at, row.id)


def subject_hash(
    secrets: Secrets, client: int, identity_id: bytes | None, subject_id: str | None
) -> bytes | None:
    """Hash the subject of a verification of an identity.

    Without an identity the subject is the person, whose key finds it: no hash is stored.
    """
    if identity_id is None or subject_id is None:
        return None
    return secrets.reference(Purpose.SUBJECT, client, subject_id)


def external_hash(secrets: Secrets, client: int, values: Mapping[str, object]) -> bytes | None:
    """Hash the client's reference of an identity."""
    reference = values.get("externalId")
    return secrets.reference(Purpose.EXTERNAL, client, reference) if isinstance(reference, str) else None
