"""Reads completed verifications page by page, with their values decrypted and the labels of an instant."""

from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Final, NamedTuple

from scoring_model.contract.fields import LABEL_FIELDS
from scoring_model.contract.outcome import DecidedBy, Outcome
from scoring_model.contract.units import DAY
from scoring_model.records import rfc3339
from scoring_model.service.core.payload import signals_are_gone
from scoring_model.service.core.rows import (
    ClientRow,
    ControlDayRow,
    IdentityRow,
    PersonKeyRow,
    ResolutionRow,
    VerificationRow,
)
from scoring_model.service.identities.persons import Persons
from scoring_model.service.keys.data_keys import Vault
from scoring_model.service.keys.keyring import Unreadable
from scoring_model.service.keys.restored import require_keys
from scoring_model.service.resolutions.rows import resolutions_of
from scoring_model.service.store import Reader, Store

LATEST: Final = 2**63 - 1

PAGE: Final = 500
"""Verifications that are read at once."""
_WITHDRAWN: Final = "withdrawn"
_NO_CURSORS: Final[Mapping[int, tuple[int, bytes]]] = {}


class LeftOut(StrEnum):
    """Why a completed verification is not exported."""

    ERASED = "erased"  # its person was erased
    PRUNED = "pruned"  # its signals were deleted with age
    EMPTY = "empty"  # it has no value but references and unknown signals: no file may hold it
    UNREADABLE = "unreadable"  # its bytes were changed


LEFT_OUT: Final[Mapping[str, str]] = {
    LeftOut.ERASED: "whose person was erased",
    LeftOut.PRUNED: "whose signals were deleted with age",
    LeftOut.EMPTY: "without a value of an identity or of a configured signal, which are no record",
    LeftOut.UNREADABLE: "that can't be decrypted: their bytes were changed",
}
"""Descriptions of verifications that are left out, by the reason."""


class OpenedValues(NamedTuple):
    """What the person of a verification sent: signals, reference, and the values of the identity."""

    signals: dict[str, object]
    subject: str | None
    identity: dict[str, object]


@dataclass(frozen=True, slots=True, kw_only=True)
class PastPage:
    """Some completed verifications of one client in the order of their event times.

    Parameters
    ----------
    labels : mapping of bytes to mapping
        By id, the fields of the label that was reported last before the end of the period; empty without one.
    opened : mapping of bytes to OpenedValues or LeftOut
        By id, the decrypted values, or why there are none.
    resolutions : mapping of bytes to ResolutionRow
        By id, the one that was reported last before the end of the period.
    propensities : mapping of bytes to float
        By id, the probability with which it passed, of those that passed under a control group.
    """

    client: ClientRow
    rows: Sequence[VerificationRow]
    labels: Mapping[bytes, Mapping[str, Any]]
    opened: Mapping[bytes, OpenedValues | LeftOut] = field(repr=False)
    resolutions: Mapping[bytes, ResolutionRow]
    propensities: Mapping[bytes, float]


async def past_pages(
    store: Store,
    vault: Vault,
    clients: Collection[int] | None = None,
    *,
    since: int,
    before: int,
    cursors: Mapping[int, tuple[int, bytes]] = _NO_CURSORS,
) -> AsyncIterator[PastPage]:
    """Read completed verifications of clients, one client after the other, each in the order of event times.

    Parameters
    ----------
    clients : collection of int, optional
        By default all. Those of sandbox clients are never read.
    since, before : int
        Microseconds: event times from `since` on and before `before`, with the labels that were reported before
        `before`.
    cursors : mapping of int to (int, bytes)
        By client, event time and id after which to go on, instead of `since`.

    Raises
    ------
    KeysMissing
        If the keys of persons were not restored to this copy of a database.
    """
    async with store.reading() as reader:
        await require_keys(reader)
        known = await reader.clients()
        controls = _Controls(await reader.control_days(0, LATEST // DAY))
    for client in known:
        if client.sandbox or (clients is not None and client.client not in clients):
            continue
        after, full = cursors.get(client.client, (since, b"")), True
        while full:
            page = await _page(store, vault, client, after, before, controls)
            yield page
            if full := len(page.rows) == PAGE:
                after = (page.rows[-1].completed_at or 0, page.rows[-1].id)


async def _page(
    store: Store,
    vault: Vault,
    client: ClientRow,
    after: tuple[int, bytes],
    before: int,
    controls: "_Controls",
) -> PastPage:
    async with store.reading() as reader:
        found = await reader.completed(client.client, after, PAGE)
        rows = [row for row in found if (row.completed_at or 0) < before]
        keys = await reader.person_keys([row.key_id for row in rows])
        wanted = list({row.identity_id: None for row in rows if row.identity_id is not None})
        identities = await reader.identities_by_ids(wanted)
        labels = await reader.labels([row.id for row in rows])
        had_control = controls.had(client.pool, rows)
        propensities = await _propensities(reader, rows, had_control)
        resolutions = await resolutions_of(reader, [row.id for row in rows])
    return PastPage(
        client=client,
        rows=rows,
        labels={row.id: _label_fields(labels.get(row.id, []), before) for row in rows},
        opened={row.id: _open(vault, row, keys.get(row.key_id), identities) for row in rows},
        resolutions={
            id_: reported[-1]
            for id_, every in resolutions.items()
            if (reported := [one for one in every if one.created_at < before])
        },
        propensities=propensities,
    )


class _Controls:
    """Tells which verifications were decided while there was a control group, or all where there never was one.

    A passed one does not say so itself: its `decided_by` is stored where rules or lists are in use, too.
    """

    def __init__(self, days: Sequence[ControlDayRow]) -> None:
        self._began = {one.history_scope: one.day for one in reversed(days)}
        self._policies: set[str | None] = set()

    def had(self, history_scope: str, rows: Sequence[VerificationRow]) -> frozenset[bytes]:
        """Return the ids of those that were: of a policy that drew, or not before the day of the first draw."""
        self._policies.update(row.policy_version for row in rows if row.control_share is not None)
        began = self._began.get(history_scope, 0)
        return frozenset(
            row.id
            for row in rows
            if (row.completed_at or 0) // DAY >= began or row.policy_version in self._policies
        )


async def _propensities(
    reader: Reader, rows: Sequence[VerificationRow], had_control: Collection[bytes]
) -> dict[bytes, float]:
    """Return the probability with which each verification passed, of those that passed under a control group.

    Whom the policy, a list or a rule lets pass always passes. Where a cap was reached, it is the share of the control
    group times that of the drawn ones of day and history scope who passed. Repeats count in neither: they never pass,
    and have no propensity.
    """
    found = {
        row.id: 1.0
        for row in rows
        if row.id in had_control
        and row.outcome == Outcome.PASSED
        and row.decided_by in (DecidedBy.POLICY, DecidedBy.LIST, DecidedBy.RULE)
    }
    controlled = [row for row in rows if row.decided_by == DecidedBy.CONTROL]
    if controlled:
        days = [(row.completed_at or 0) // DAY for row in controlled]
        scopes = await reader.history_scopes()
        counted = {one[:3]: one for one in await reader.control_days(min(days), max(days))}
        for day, row in zip(days, controlled, strict=True):
            one = counted[day, scopes[row.client], row.policy_outcome or ""]
            found[row.id] = (row.control_share or 0.0) * (one.passed / (one.drawn - one.repeats))
    return found


def _open(
    vault: Vault, row: VerificationRow, key_row: PersonKeyRow | None, identities: Mapping[bytes, IdentityRow]
) -> OpenedValues | LeftOut:
    """Decrypt the values of a verification; returns why there are none."""
    if row.payload is None or key_row is None:
        return LeftOut.ERASED
    persons = Persons(vault)
    try:
        key = vault.open_key(key_row)
        signals, subject, _ = persons.verification_payload(row, key)
        if not signals and signals_are_gone(
            key.open(row.payload, table="verifications", column="payload", row=row.id)
        ):
            return LeftOut.PRUNED
        identity: dict[str, object] = {}
        if row.identity_id is not None and row.identity_id in identities:
            identity = persons.identity_values(identities[row.identity_id], key)
    except Unreadable:
        return LeftOut.UNREADABLE
    return OpenedValues(signals, subject, identity)


def _label_fields(labels: Sequence[tuple[str, int, int]], before: int) -> dict[str, Any]:
    """Return the label that was reported last before an instant, unless it is a withdrawal."""
    reported = [label for label in labels if label[2] < before]
    if not reported or reported[-1][0] == _WITHDRAWN:
        return {}
    label, known_at, reported_at = reported[-1]
    return dict(zip(LABEL_FIELDS, (label, rfc3339(known_at), rfc3339(reported_at)), strict=True))
