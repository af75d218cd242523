"""Reads from a database, built on two methods per dialect: `_rows` and `_each`."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from itertools import islice
from typing import Any, Final, NamedTuple, TypeVar, cast

from scoring_model.service.core.rows import (
    ApiKeyRow,
    BundleActivationRow,
    BundleFileRow,
    BundleRow,
    ClientRow,
    ControlDayRow,
    ControlPassRow,
    DeliveryRow,
    EventRow,
    IdempotencyRow,
    IdentityRow,
    LabelRow,
    ListChangeRow,
    ListEntryRow,
    OperatorListRow,
    PersonKeyRow,
    ResolutionRow,
    Row,
    RuleSetRow,
    ServingProcessRow,
    UnknownSignalRow,
    VerificationRow,
    WebhookRow,
)
from scoring_model.service.store import lists
from scoring_model.service.store import statements as sql
from scoring_model.service.store.expiry import EXPIRY, NEVER, Cutoffs, Expiring, Key, KeyRange
from scoring_model.service.store.queries import Values, row_of, rows_by_key, rows_of, rows_of_each, takes
from scoring_model.service.store.statements import Each, for_each, select, select_each

TRUNCATION_FACT: Final = "truncation_required"
"""Name of the fact that an erasure on SQLite sets until the write-ahead log is truncated. Its value is the instant of
the erasure in decimal digits, microseconds since 1970-01-01 UTC."""

WHOLE_DATABASE: Final = "*"
"""A history scope that no client has; its lock protects database-wide values."""

Past = tuple[Any, ...]
"""Time, person and packed labels of one earlier event under a link key, and any requested amounts; see `LinkRow`."""

R = TypeVar("R", bound=Row)


class Measures(NamedTuple):
    """How much waits or is young: numbers up to 10,000, and instants in microseconds since 1970-01-01 UTC.

    Parameters
    ----------
    pending : int
        PENDING verifications.
    waiting, dead : int
        Deliveries.
    erasures : int
        Erasures that have steps left.
    due_at : int
        The earliest instant at which a waiting delivery is due; 0 if none waits.
    labelled_at : int
        When the last label was reported; 0 if none was.
    unresolved : int
        Of the latest 100 step-ups of each client, those without a resolution.
    """

    pending: int
    waiting: int
    dead: int
    erasures: int
    due_at: int
    labelled_at: int
    unresolved: int


BEFORE_ALL: Final = (NEVER, b"")


class Reader(ABC):
    """Read operations. Every call sees committed data and its own transaction."""

    @abstractmethod
    async def _rows(self, statement: str, *arguments: object) -> Sequence[Values]:
        """Run a statement; returns its rows."""

    @abstractmethod
    async def _each(self, statement: Each, keys: Sequence[Values]) -> Sequence[Values]:
        """Run a statement for many keys; returns all rows."""

    @abstractmethod
    async def histories(
        self,
        hashes: Sequence[bytes],
        *,
        since: int,
        cap: int,
        amounts: int = 0,
        between: tuple[int, int] | None = None,
    ) -> list[list[Past]]:
        """Return the latest events under each hash: at most `cap` and those of the instant of the last one.

        Parameters
        ----------
        hashes : sequence of bytes
        since : int
            Omits events before this instant.
        cap : int
        amounts : int
            Masked amounts to return: 0 for none, 1 for the first, 2 or more for all.
        between : tuple of (int, int), optional
            Return every event from the first instant until before the second, and the latest `cap` before the first.

        Returns
        -------
        list of list of Past
            Events per hash, latest first; those of one instant in any order. With amounts the last item is the tie.
        """

    async def _all(self, kind: type[R], statement: str, *arguments: object) -> list[R]:
        return cast("list[R]", [kind._make(row) for row in await self._rows(statement, *arguments)])

    async def _first(self, kind: type[R], statement: str, *arguments: object) -> R | None:
        return next(iter(await self._all(kind, statement, *arguments)), None)

    async def fact(self, name: str) -> bytes | None:
        """Return the value of a fact, or None."""
        rows = await self._rows(sql.FACT, name)
        return rows[0][1] if rows else None

    bundles = rows_of(BundleRow, "ORDER BY first_served_at, model_version, policy_version", takes())
    """Every bundle ever served, in the order of first use."""

    async def bundle_files(self, model_version: str, policy_version: str) -> Mapping[str, bytes]:
        """Return the files of a bundle by name; none unless it was to be activated."""
        rows = await self._all(BundleFileRow, sql.BUNDLE_FILES, model_version, policy_version)
        return {row.name: row.content for row in rows}

    activations = rows_of(BundleActivationRow, "ORDER BY number DESC", takes())
    """The succession of served bundles, latest first."""

    latest_activation = row_of(BundleActivationRow, "ORDER BY number DESC LIMIT 1", takes())
    """The last step of that succession."""

    rule_sets = rows_of(RuleSetRow, "ORDER BY number DESC", takes())
    """All rules that were ever active, latest first."""

    rule_set = row_of(RuleSetRow, "WHERE number = $1", takes(int))
    """Rules by their number."""

    async def rule_hits(self, number: int) -> Sequence[tuple[str, int]]:
        """Return how many verifications under rules with a number had which hits: comma-separated codes, count."""
        return [(row[0], row[1]) for row in await self._rows(sql.RULE_HITS, number)]

    async def latest_overrides(self) -> tuple[int, int]:
        """Return the numbers of the active rules and of the last change of lists; 0 if there never was one."""
        rules, lists = (await self._rows(sql.LATEST_OVERRIDES))[0]
        return rules or 0, lists or 0

    lists_after = rows_of(OperatorListRow, "WHERE number > $1 ORDER BY number", takes(int))
    """Lists that were made after a change."""

    lists_of = rows_of(OperatorListRow, "WHERE history_scope = $1 ORDER BY name", takes(str))
    """The lists of a history scope, by name."""

    operator_list = row_of(OperatorListRow, "WHERE number = $1", takes(int))
    """A list by its number."""

    list_entries = rows_of_each(
        ListEntryRow, select_each(ListEntryRow, "hash", "ORDER BY hash, added"), bytes
    )
    """The entries with some hashes, also those that have ended."""

    living_entries = rows_of(
        ListEntryRow,
        "WHERE list_number = $1 AND removed IS NULL AND hash > $2 ORDER BY hash LIMIT $3",
        takes(int, bytes, int),
    )
    """Entries of a list after a hash that were not removed, ordered by hash."""

    async def expired_entries(self, list_number: int, now: int) -> set[bytes]:
        """Return the hashes of the entries of a list that were not removed and whose end has passed."""
        return {row[0] for row in await self._rows(sql.EXPIRED_ENTRIES, list_number, now)}

    list_changes = rows_of(
        ListChangeRow, "WHERE list_number = $1 ORDER BY number DESC LIMIT $2", takes(int, int)
    )
    """The last changes of a list, latest first."""

    async def list_hits(self) -> Sequence[tuple[str, str, int]]:
        """Return how many verifications were on which lists: history scope, comma-separated names, count."""
        return [(row[0], row[1], row[2]) for row in await self._rows(sql.LIST_HITS)]

    async def list_hashes(self, after: tuple[int, bytes], limit: int) -> Sequence[tuple[int, bytes]]:
        """Return change and hash of the entries that were added after a position, in the order of changes."""
        return [(row[0], row[1]) for row in await self._rows(sql.LIST_HASHES, *after, limit)]

    serving_processes = rows_of(ServingProcessRow, "ORDER BY host, pid, process", takes())
    """What the processes last reported, including those that ended without a word."""

    control_days = rows_of(
        ControlDayRow,
        "WHERE day >= $1 AND day <= $2 ORDER BY day, history_scope, policy_outcome",
        takes(int, int),
    )
    """The counts of control groups on some days since 1970-01-01, both included, in order."""

    control_passes = rows_by_key(ControlPassRow, "digest")
    """Who passed in a control group and is still kept, by digest."""

    async def credentials(self, digests: Sequence[bytes]) -> Mapping[bytes, tuple[ApiKeyRow, ClientRow]]:
        """Return API keys with their clients by SHA-256 of the keys, including revoked and expired ones."""
        rows = await self._each(sql.CREDENTIALS, [(digest,) for digest in digests])
        return {row[0]: cast("tuple[ApiKeyRow, ClientRow]", split(row, ApiKeyRow, ClientRow)) for row in rows}

    clients = rows_of(ClientRow, "ORDER BY client", takes())
    """All clients, ordered by number."""

    async def history_scopes(self) -> dict[int, str]:
        """Return the history scope of each client."""
        return {row.client: row.pool for row in await self.clients()}

    api_keys = rows_of(ApiKeyRow, "WHERE client = $1 ORDER BY created_at, digest", takes(int))
    """All API keys of a client, including revoked and expired ones, oldest first."""

    unknown_signals = rows_of_each(
        UnknownSignalRow,
        for_each(select(UnknownSignalRow, "WHERE client"), "ORDER BY client, name", kind="bigint"),
        int,
    )
    """The counts of unknown signals of some clients; by client in ascending order if they are, and by name."""

    identity = row_of(IdentityRow, "WHERE client = $1 AND id = $2", takes(int, bytes))
    """An identity of a client."""

    async def identity_and_key(
        self, client: int, resource: bytes
    ) -> tuple[IdentityRow, PersonKeyRow | None] | None:
        """Return an identity of a client with the key of its person, which is None after erasure."""
        values = await self._identity_and_key(resource)
        if values is None:
            return None
        identity, key = split(values, IdentityRow, PersonKeyRow)
        if identity.client != client:
            return None
        return identity, None if key.key_id is None else key

    async def _identity_and_key(self, resource: bytes) -> Values | None:
        """Return identity and key as one row, for any client."""
        rows = await self._each(sql.IDENTITY_AND_KEY, [(resource,)])
        return rows[0] if rows else None

    verification = row_of(VerificationRow, "WHERE client = $1 AND id = $2", takes(int, bytes))
    """A verification of a client."""

    verification_by_id = row_of(VerificationRow, "WHERE id = $1", takes(bytes))
    """A verification of any client, for operators' commands."""

    verifications_by_ids = rows_of_each(VerificationRow, lists.BY_IDS[VerificationRow], bytes)
    """Verifications of any client."""

    identities_by_ids = rows_by_key(IdentityRow, "id")
    """Identities of any client, by id."""

    async def page(self, page: lists.Page) -> tuple[list[Any], lists.Position | None]:
        """Read a page of a list without filters, latest first.

        Returns
        -------
        rows : list of Row
            At most `page.limit`.
        end : Position or None
            Where the next page begins; None if this is the last one.
        """
        rows = await self._all(page.index.kind, lists.rows(page.index), *page.bounds, page.limit + 1)
        if len(rows) <= page.limit:
            return rows, None
        return rows[: page.limit], _position(rows[page.limit - 1])

    async def check(self, page: lists.Page, rows: int) -> tuple[list[lists.Position], lists.Position | None]:
        """Check the filters of a page on the next `rows` rows.

        Returns
        -------
        matching : list of Position
            The rows that pass, latest first.
        end : Position or None
            The last row that was checked; None if fewer are left.
        """
        statement = lists.checked(page.index, tuple(page.filters))
        found = await self._rows(statement, *page.bounds, rows, *page.filters.values())
        end = lists.Position(*found[-1][:2]) if len(found) == rows else None
        return [lists.Position(at, resource) for at, resource, passes in found if passes], end

    async def listed(self, kind: type[Row], resources: Sequence[bytes]) -> list[Any]:
        """Return rows that still exist, latest first."""
        statement = lists.BY_IDS[kind]
        rows = [kind._make(row) for row in await self._each(statement, [(one,) for one in resources])]
        return sorted(rows, key=_position, reverse=True)

    async def ids_of_identity(self, identity_id: bytes, limit: int, after: bytes = b"") -> list[bytes]:
        """Return the ids of verifications of an identity, of any status, in order, strictly after one."""
        return [row[0] for row in await self._rows(sql.IDS_OF_IDENTITY, identity_id, after, limit)]

    async def completed(
        self, client: int, after: tuple[int, bytes] | None, limit: int
    ) -> list[VerificationRow]:
        """Return COMPLETED verifications of a client ordered by (completed_at, id), strictly after a pair."""
        return await self._all(VerificationRow, sql.COMPLETED, client, *(after or BEFORE_ALL), limit)

    verifications = rows_of(VerificationRow, "WHERE id > $1 ORDER BY id LIMIT $2", takes(bytes, int))
    """Verifications of all clients ordered by id, strictly after one; at most a number."""

    latest_completed = rows_of(
        VerificationRow,
        f"WHERE status = 'COMPLETED' AND id < $1 AND {lists.real('verifications')} ORDER BY id DESC LIMIT $2",
        takes(bytes, int),
    )
    """COMPLETED verifications of all real clients with ids below one, latest first; at most a number."""

    async def labels(self, verification_ids: Sequence[bytes]) -> Mapping[bytes, list[tuple[str, int, int]]]:
        """Return label, known_at and told_at of each labelled verification, in the order of reporting."""
        found: dict[bytes, list[tuple[str, int, int]]] = {}
        for values in await self._each(sql.LABELS, [(value,) for value in verification_ids]):
            row = LabelRow._make(values)
            found.setdefault(row.verification_id, []).append((row.label, row.known_at, row.told_at))
        return found

    resolutions = rows_of_each(ResolutionRow, sql.RESOLUTIONS, bytes)
    """The resolutions of verifications, those of one oldest first."""

    async def labelled(self, after: tuple[bytes, int], limit: int) -> Sequence[Values]:
        """Return labels after a pair (verification_id, number), in this order, with what they are about.

        Returns
        -------
        sequence of (number, verification_id, label, known_at, told_at, completed_at, outcome, policy_outcome,
        decided_by)
        """
        return await self._rows(lists.LABELLED, *after, limit)

    async def resolved(self, after: tuple[bytes, int, bytes], limit: int) -> Sequence[Values]:
        """Return resolutions of stepped-up verifications after one, ordered by verification and time.

        Returns
        -------
        sequence of (verification_id, created_at, id, result, method, whether it could have been drawn to pass)
        """
        return await self._rows(lists.RESOLVED, *after, limit)

    async def outcomes(self) -> Mapping[str, int]:
        """Count the completed verifications of each outcome, by a look at all of them."""
        return {row[0]: row[1] for row in await self._rows(lists.OUTCOMES)}

    async def links_of(self, value: bytes, limit: int) -> Sequence[Values]:
        """Return the latest link records under a hash as (time, person, labels, number of all), for operators."""
        return await self._rows(lists.LINKS_OF, value, limit)

    completed_at = rows_of(
        VerificationRow,
        "WHERE client = $1 AND status = 'COMPLETED' AND completed_at = $2 ORDER BY id",
        takes(int, int),
    )
    """The COMPLETED verifications of a client with an event time."""

    events_of = rows_of(EventRow, "WHERE client = $1 AND resource = $2 ORDER BY sequence", takes(int, bytes))
    """The events of a client's resource in their order, by a look at all of its client, for operators."""

    person_keys = rows_by_key(PersonKeyRow, "key_id")
    """The person keys that still exist, by id."""

    async def sealing_keys(self, after: bytes, limit: int) -> list[bytes]:
        """Return ids of keys that seal a payload, in order, after one, also of keys that are gone; at most a number."""
        return [row[0] for row in await self._rows(sql.SEALING_KEYS, after, limit)]

    async def lacks_keys(self) -> bool:
        """Return True if payloads are sealed, but no person has a key."""
        return bool(await self._rows(sql.LACKS_KEYS))

    async def persons(self, persons: Sequence[tuple[int, bytes]]) -> Mapping[tuple[int, bytes], PersonKeyRow]:
        """Return the keys of persons by client and pseudonym."""
        rows = map(PersonKeyRow._make, await self._each(sql.PERSONS, persons))
        return {(row.client, cast(bytes, row.person)): row for row in rows}

    idempotency = rows_by_key(IdempotencyRow, "digest")
    """Recorded answers by digest."""

    webhook = row_of(WebhookRow, "WHERE client = $1 AND id = $2", takes(int, bytes))
    """A webhook of a client."""

    webhooks = rows_of(
        WebhookRow, "WHERE client = $1 AND id > $2 ORDER BY id LIMIT $3", takes(int, bytes, int)
    )
    """Webhooks of a client ordered by id, strictly after one; at most a number."""

    async def delivery(self, resource: bytes) -> tuple[DeliveryRow, EventRow] | None:
        """Return a delivery and its event, of any client, for operators' commands."""
        rows = await self._rows(sql.DELIVERY, resource)
        return cast("tuple[DeliveryRow, EventRow]", split(rows[0], DeliveryRow, EventRow)) if rows else None

    async def deliveries(
        self,
        *,
        status: str | None = None,
        client: int | None = None,
        webhook: bytes | None = None,
        after: bytes | None = None,
        limit: int,
    ) -> list[DeliveryRow]:
        """Return deliveries ordered by id, strictly after one, for operators' commands.

        Parameters
        ----------
        status : str, optional
            Only deliveries with this `DeliveryStatus`.
        client : int, optional
            Only deliveries of this client.
        webhook : bytes, optional
            Only deliveries to this webhook.

        Raises
        ------
        ValueError
            If there is no such status.
        """
        statement = sql.deliveries(status, client=client is not None, webhook=webhook is not None)
        wanted = [value for value in (client, webhook) if value is not None]
        return await self._all(DeliveryRow, statement, after or b"", limit, *wanted)

    async def deliveries_by_ids(self, resources: Sequence[bytes]) -> list[tuple[DeliveryRow, EventRow]]:
        """Return deliveries with their events, in this order, as far as they exist."""
        rows = await self._each(sql.DELIVERIES_BY_IDS, [(resource,) for resource in resources])
        found = {row[0]: split(row, DeliveryRow, EventRow) for row in rows}
        pairs = [found[resource] for resource in resources if resource in found]
        return cast("list[tuple[DeliveryRow, EventRow]]", pairs)

    deliveries_of = rows_of(DeliveryRow, "WHERE event = $1 ORDER BY id", takes(bytes))
    """All deliveries of an event ordered by id, for operators' commands."""

    async def newest_event(self, after: int) -> int | None:
        """Return the latest event after an instant; None if there is none or its link records were deleted.

        Checks the newest completed verification of each client.
        """
        newest: int | None = (await self._rows(sql.NEWEST_EVENT, after))[0][0]
        return newest

    async def measures(self) -> Measures:
        """Return how much waits or is young, for metrics."""
        return Measures._make([value or 0 for value in (await self._rows(sql.MEASURES))[0]])

    async def future_links(self, first: int, after: int) -> list[int]:
        """Return the instants of link records later than an instant, for hashes with a given first byte."""
        return [row[0] for row in await self._rows(sql.FUTURE_LINKS, *beginning_with(first), after)]

    async def key_range(self, kind: Expiring, cutoffs: Cutoffs, after: Key | None, limit: int) -> KeyRange:
        """Find the next key range of an expiring kind.

        Parameters
        ----------
        cutoffs : Cutoffs
            With an instant for this kind.
        after : Key, optional
            The end of the previous range; None to begin.
        limit : int
            Maximum number of rows in the range, old or not.
        """
        spec = EXPIRY[kind]
        begin, last = after or spec.first, spec.last(cutoffs[kind])
        ends = await self._rows(spec.end, *begin, limit - 1)
        through = min(tuple(ends[0]), last) if ends else last
        instants = [cutoffs.get(one, NEVER) for one in (kind, *spec.earlier)]
        counted = await self._rows(spec.count, *begin, *through, *instants)
        return KeyRange(kind=kind, after=begin, through=through, old=counted[0][0], last=through == last)


def _position(row: Any) -> lists.Position:
    return lists.Position(row.created_at, row.id)


def split(row: Values, *kinds: type[Row]) -> tuple[Any, ...]:
    """Split a joined row into rows of several kinds."""
    values = iter(row)
    return tuple(kind._make(islice(values, len(kind._fields))) for kind in kinds)


def beginning_with(first: int) -> tuple[bytes, bytes]:
    """Return the bounds of all hashes (at most 32 bytes) with this first byte."""
    return bytes([first]), bytes([first]) + b"\xff" * 32
