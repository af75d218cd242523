"""The rows of the tables.

Field names are column names. Identifiers are 16 bytes, instants integer microseconds since
1970-01-01 UTC, booleans 0 or 1, and clients the number assigned by the store. Sealed values are
encrypted.
"""

import struct
from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Final, NamedTuple


class FactRow(NamedTuple):
    """A database-wide value, such as the check value of the hashing secret."""

    name: str
    value: bytes


class BundleRow(NamedTuple):
    """A bundle that was ever served; both versions together are the key."""

    model_version: str
    policy_version: str
    reasons: str  # JSON: its reason codes and their texts
    first_served_at: int


class ClientRow(NamedTuple):
    """A client of the service.

    `pool` is its history scope: its own number as text, unless the operator lets it share history with others.
    `sequence` is the number of its latest event.
    """

    client: int
    client_id: str
    name: str
    pool: str
    scopes: str  # comma-separated
    quota: int  # requests
    quota_seconds: int
    sequence: int
    created_at: int
    revoked_at: int | None
    strict_signals: int = 0  # whether signals that the model does not know are refused
    importing: int = 0  # whether its history is being imported, so that nothing is scored
    sandbox: int = 0  # whether nothing of it is about real persons


class ApiKeyRow(NamedTuple):
    """An API key, stored only as the SHA-256 of its text."""

    digest: bytes
    client: int
    created_at: int
    expires_at: int | None
    revoked_at: int | None


class PersonKeyRow(NamedTuple):
    """The wrapped data key of one person of one client. Erasure deletes the row."""

    key_id: bytes
    client: int
    person: bytes | None  # pseudonym; None if the person is known from a single identity or verification only
    master_id: bytes  # of the wrapping master key
    wrapped: bytes


class IdentityRow(NamedTuple):
    """An identity; its values and validation errors are sealed under its person's key, which also names the person."""

    id: bytes
    client: int
    key_id: bytes
    status: str
    payload: bytes | None  # sealed; None after erasure
    created_at: int
    updated_at: int
    external: bytes | None = None  # keyed hash of the client's reference; None without one and after erasure


class VerificationRow(NamedTuple):
    """A verification: its decision in the clear, its input sealed under its person's key."""

    id: bytes
    client: int
    identity_id: bytes | None
    previous_id: bytes | None
    key_id: bytes
    status: str
    outcome: str | None
    score: int | None
    reasons: str | None  # comma-separated codes
    model_version: str | None
    policy_version: str | None
    created_at: int
    completed_at: int | None  # event time
    row_digest: bytes | None  # keyed hash of the feature row
    payload: bytes | None  # sealed signals, subject and feature row; None after erasure
    links: bytes | None  # concatenated 16-byte hashes of its link keys; None after erasure
    attempts: int
    leased_until: int | None
    reference: str | None  # sealed idempotency key, as base64, of a verification that is still PENDING
    subject: bytes | None = (
        None  # keyed hash of the client's reference of one with an identity; None after erasure
    )
    decided_by: str | None = (
        None  # `DecidedBy`; None if nothing but the policy could decide; of a sandbox always
    )
    policy_outcome: str | None = None  # by score and thresholds; None if nothing but the policy could decide
    control_share: float | None = None  # of those whom the policy stops and whose person is known
    control_drawn: int | None = (
        None  # whether this person was drawn; a drawn one passes once, unless a cap is reached
    )
    control_repeat: int | None = (
        None  # of a drawn one: whether the person had passed in the control group before
    )
    rules: int | None = None  # number of the rules that were active; None if none ever were
    rule_hits: str | None = None  # comma-separated codes of those that held
    decided_by_code: str | None = None  # of the rule, or name of the list, that decided
    lists: int | None = None  # number of the last change of lists; None if there never was one
    list_hits: str | None = None  # comma-separated names of the lists that it was on

    @property
    def outcome_of_policy(self) -> str | None:
        """The outcome that follows from score and thresholds."""
        return self.outcome if self.policy_outcome is None else self.policy_outcome


class ControlDayRow(NamedTuple):
    """Verifications of a UTC day, scope and outcome of the policy that were drawn for the control group."""

    day: int  # since 1970-01-01
    history_scope: str
    policy_outcome: str
    drawn: int
    repeats: int  # those of them whose person had passed before
    passed: int  # those of the others that no cap kept from passing
    expected_cost: float  # of all that were drawn


class ControlPassRow(NamedTuple):
    """A person who passed in the control group of a policy. It lives as long as link records."""

    digest: bytes  # keyed hash of person and version of the policy
    time: int  # event time of the verification
    verification: bytes


def more_amounts(masked: Sequence[Sequence[int]], rows: int) -> Sequence[bytes | None]:
    """Pack the amounts after the first one, given by kind, for each row; None where there are none."""
    if not masked:
        return [None] * rows
    return [struct.pack(f"<{len(masked)}q", *of_row) for of_row in zip(*masked, strict=True)]


class LinkRow(NamedTuple):
    """One event under one link key.

    Hash, instant and `tie` are the key. Only imported events of one instant have ties other than 0.

    `labels` are pairs of the instant from which a label counts and its value, 9 bytes each (`<qb`: 1 for
    fraud, 0 for anything else), in the order of reporting. `amount` is masked, see `Masks`, and so are
    `more_amounts`, 8 bytes each (`<q`); None if the history has none.
    """

    hash: bytes
    time: int
    person: bytes
    labels: bytes | None
    amount: int | None = None
    more_amounts: bytes | None = None
    tie: int = 0


class ImportedRow(NamedTuple):
    """A record that was imported into a history. It lives as long as its link records."""

    record: bytes  # keyed hash of client and recordId
    client: int
    time: int  # event time
    links: bytes  # 20 bytes for each link record: hash, and tie as `<I`
    labels: bytes | None = None  # reported later, 9 bytes each (`<qb`): known-at, and place in `LABELS`


class EventRow(NamedTuple):
    """An event for webhooks. `data` is JSON without the sequence and without personal data."""

    id: bytes
    client: int
    sequence: int
    type: str
    resource: bytes
    created_at: int
    data: str
    waiting: int  # 1 until every webhook that wants it has a delivery


class WebhookRow(NamedTuple):
    """A webhook; its secrets, its query and its description are sealed under a key of the service."""

    id: bytes
    client: int
    destination_url: str  # without the query
    active: int
    event_types: str  # JSON list
    description: bytes | None  # sealed
    disabled_reason: str | None
    secret: bytes  # sealed
    old_secret: bytes | None  # sealed
    old_secret_until: int | None
    created_at: int
    updated_at: int
    succeeded_at: int  # the latest of its last success, its creation and its last activation
    query: bytes | None  # sealed: the query of the destination, with its question mark
    since_sequence: int  # it gets only later events of its client


class DeliveryStatus(StrEnum):
    """State of a delivery. Only an operator sets a settled one to WAITING again."""

    WAITING = "WAITING"
    DELIVERED = "DELIVERED"
    DEAD = "DEAD"  # no attempts left
    DROPPED = "DROPPED"  # its webhook was made inactive, disabled or deleted


class DeliveryRow(NamedTuple):
    """The delivery of one event to one webhook. `status` is a `DeliveryStatus`.

    Only WAITING deliveries change; an operator can make a settled one WAITING again.
    """

    id: bytes
    event: bytes
    webhook: bytes
    client: int
    status: str
    attempts: int
    due_at: int  # of the next attempt
    leased_until: int | None  # a process holds it until then
    created_at: int
    finished_at: int | None  # when it left WAITING
    answered: int | None  # HTTP status of the last attempt
    excerpt: str | None  # short, sanitised error of the last attempt


class IdempotencyRow(NamedTuple):
    """The answer to a POST, under the digest of client, method, path and idempotency key."""

    digest: bytes
    client: int
    status: int
    resource: bytes
    body_digest: bytes  # keyed hash of the request body
    answer: bytes | None  # sealed, if it can't be rebuilt from the resource
    created_at: int


class LabelRow(NamedTuple):
    """A label of a verification: `fraud`, `genuine` or `withdrawn`. Immutable."""

    client: int
    verification_id: bytes
    label: str
    known_at: int
    told_at: int


class ResolutionRow(NamedTuple):
    """How the step-up or review of a verification ended. Immutable, but for its payload, which erasure empties."""

    id: bytes
    client: int
    verification_id: bytes
    result: str
    method: str
    payload: bytes | None  # sealed: who ended it, and a note; None without both and after erasure
    resolved_at: int
    created_at: int  # when it was received; it counts from the later of both


OTHER_SIGNALS: Final = ""
"""The name in the row that counts unknown signals of a client whose names are not kept."""


class UnknownSignalRow(NamedTuple):
    """Requests of a client with a signal that the model did not know; of `OTHER_SIGNALS` the number of such signals."""

    client: int
    name: str
    nearest: str  # the signal of the model with the nearest name; empty for `OTHER_SIGNALS`
    requests: int
    last_seen: int


class BundleFileRow(NamedTuple):
    """One file of a bundle that was to be activated; a process without the bundle takes it from here."""

    model_version: str
    policy_version: str
    name: str
    content: bytes


class ActivationState(StrEnum):
    """What a row of `bundle_activations` says about its bundle."""

    REQUESTED = "REQUESTED"  # every process checks it
    ACTIVE = "ACTIVE"  # every process serves it, from now on
    REFUSED = "REFUSED"


class BundleActivationRow(NamedTuple):
    """A step in the succession of served bundles. Rows are only added; a higher number is later.

    `state` is an `ActivationState`.
    """

    number: int
    at: int
    model_version: str
    policy_version: str
    longest_window: int  # of the bundle, microseconds
    state: str
    requested_by: str
    request: int | None = None  # the number of the row that this one answers; None without a request
    reason: str | None = None  # of a refusal


class RuleSetRow(NamedTuple):
    """Rules that were active from an activation or rollback to the next. Rows are kept for replays."""

    number: int  # from 1
    at: int
    version: str
    document: str  # canonical JSON
    activated_by: str


class OperatorListRow(NamedTuple):
    """A list of one history scope: values of one link key, and the outcome of those who have one."""

    number: int  # of the change that made it
    history_scope: str
    name: str
    key: str  # name of the link key
    outcome: str  # of those who have one of its values
    entries: int  # that were added and not removed


class ListEntryRow(NamedTuple):
    """One value of a list, as the hash that links use. Hash and change are the key."""

    hash: bytes
    added: int  # number of the change
    list_number: int
    until: int | None  # events from this instant on are not subject to it
    removed: int | None  # number of the change
    ended_at: int | None  # the earlier of `until` and its removal
    sealed: bytes | None = None  # the value, for the lists of all scopes alone: new scopes get it too


class ListChangeRow(NamedTuple):
    """A change of one list. Numbers are those of the database: a verdict names the last change that it saw."""

    number: int  # from 1
    list_number: int
    at: int
    changed_by: str
    added: int  # entries
    removed: int


class ServingProcessRow(NamedTuple):
    """A process that answers requests, as it last reported."""

    process: bytes
    host: str
    pid: int
    model_version: str
    policy_version: str
    since: int
    checked: int  # number of the latest request whose bundle it could serve
    problem: str | None  # why it does not serve the active bundle
    seen_at: int


Row = (
    FactRow
    | BundleRow
    | ClientRow
    | ApiKeyRow
    | PersonKeyRow
    | IdentityRow
    | VerificationRow
    | ControlDayRow
    | ControlPassRow
    | LinkRow
    | ImportedRow
    | EventRow
    | WebhookRow
    | DeliveryRow
    | IdempotencyRow
    | LabelRow
    | ResolutionRow
    | UnknownSignalRow
    | BundleFileRow
    | BundleActivationRow
    | RuleSetRow
    | OperatorListRow
    | ListEntryRow
    | ListChangeRow
    | ServingProcessRow
)

TABLES: Final[Mapping[type[Row], str]] = {
    FactRow: "facts",
    BundleRow: "bundles",
    ClientRow: "clients",
    ApiKeyRow: "api_keys",
    PersonKeyRow: "person_keys",
    IdentityRow: "identities",
    VerificationRow: "verifications",
    ControlDayRow: "control_draws",
    ControlPassRow: "control_passes",
    LinkRow: "links",
    ImportedRow: "imported_records",
    EventRow: "events",
    WebhookRow: "webhooks",
    DeliveryRow: "deliveries",
    IdempotencyRow: "idempotency",
    LabelRow: "labels",
    ResolutionRow: "resolutions",
    UnknownSignalRow: "unknown_signals",
    BundleFileRow: "bundle_files",
    BundleActivationRow: "bundle_activations",
    RuleSetRow: "rule_sets",
    OperatorListRow: "operator_lists",
    ListEntryRow: "list_entries",
    ListChangeRow: "list_changes",
    ServingProcessRow: "serving_processes",
}
"""The table of each kind of row."""
