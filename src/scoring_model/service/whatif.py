"""What another bundle would have decided about past verifications: counts, flips and their reasons, and a file."""

from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import numpy as np
import pyarrow as pa

from scoring_model.bundle.k_anonymity import MIN_GROUP_SIZE
from scoring_model.contract.fields import IDENTITY_FIELDS, signal_field
from scoring_model.contract.outcome import OUTCOMES
from scoring_model.contract.texts import to_text
from scoring_model.evaluation.age_bands import AGE_BAND, age_bands
from scoring_model.evaluation.grouping import MAX_GROUPS, MISSING, OTHER
from scoring_model.records import Column
from scoring_model.records.times import DAY
from scoring_model.scorer.scorer import Scorer
from scoring_model.service.core.rows import ClientRow, VerificationRow
from scoring_model.service.export import ROW_GROUP, private_parquet
from scoring_model.service.keys.data_keys import Vault
from scoring_model.service.keys.secrets import Purpose, Secrets
from scoring_model.service.past_pages import OpenedValues, PastPage, past_pages
from scoring_model.service.replay import Replayer
from scoring_model.service.scoring.score import Score
from scoring_model.service.store import Store

CLIENT: Final = "clientId"
"""The group of every result."""

_TEXT: Final = pa.dictionary(pa.int32(), pa.string())
SCHEMA: Final = pa.schema(
    [
        ("verificationId", pa.string()),
        (CLIENT, _TEXT),
        ("eventTime", pa.timestamp("us", "UTC")),
        ("scoringScore", pa.int16()),
        ("scoringOutcome", _TEXT),
        ("modelVersion", _TEXT),
        ("policyVersion", _TEXT),
        ("whatifScore", pa.int16()),
        ("whatifOutcome", _TEXT),
        ("flipped", pa.bool_()),
        ("label", _TEXT),
    ]
)
"""Columns of the file: the verdict of score and thresholds, whatever a control group made of it, that of the other
bundle, whether the outcomes differ, and the latest label."""


@dataclass(slots=True, kw_only=True)
class OutcomeFlip:
    """Verifications with one outcome then and another one by the bundle.

    Parameters
    ----------
    frauds, genuine : int
        Those with a label; the others have none yet.
    reasons : mapping of str to int
        Verifications by reason code of the stricter of both decisions. A decision has up to five reasons.
    """

    verifications: int = 0
    frauds: int = 0
    genuine: int = 0
    reasons: Counter[str] = field(default_factory=Counter)

    def add(self, reasons: str | None, label: object) -> None:
        """Count a verification with the comma-separated reasons of the stricter decision and its label."""
        self.verifications += 1
        self.frauds += label == "fraud"
        self.genuine += label == "genuine"
        self.reasons.update(reasons.split(",") if reasons else ())


@dataclass(slots=True, kw_only=True)
class GroupFlips:
    """Replayed verifications with one value of a column, and those with a stricter or milder outcome."""

    verifications: int = 0
    stricter: int = 0
    milder: int = 0

    def add(self, change: int) -> None:
        """Count a verification; a positive change is stricter."""
        self.verifications += 1
        self.stricter += change > 0
        self.milder += change < 0

    def merge(self, other: "GroupFlips") -> None:
        """Add the counts of another group."""
        self.verifications += other.verifications
        self.stricter += other.stricter
        self.milder += other.milder


@dataclass(frozen=True, slots=True, kw_only=True)
class WhatIf:
    """The result.

    Parameters
    ----------
    model_version, policy_version : str
        Those of the bundle that decided again.
    verifications : int
        Completed verifications of the period.
    replayed : int
        Those that were decided again.
    first, last : int or None
        Event times of the first and the last of them, microseconds.
    days : int
        Days (UTC) with replayed verifications.
    differ : int
        Those of them with another score, outcome or reasons.
    outcomes : mapping of (str, str) to int
        Number of replayed verifications by outcome then, and by the bundle.
    flips : mapping of (str, str) to OutcomeFlip
        Those of them whose outcomes differ.
    groups : mapping of str to mapping of str to GroupFlips
        By column and value, most verifications first. Values of fewer than five persons are one group.
    own, own_differ : int
        Replayed verifications that the same model and policy had decided, and those of them whose verdict or feature
        row differs in any bit: 0 unless link records were deleted by hand.
    left_out : mapping of str to int
        Verifications that can't be decided again, by the reason.
    """

    model_version: str
    policy_version: str
    verifications: int
    replayed: int
    first: int | None
    last: int | None
    days: int
    differ: int
    outcomes: Mapping[tuple[str, str], int]
    flips: Mapping[tuple[str, str], OutcomeFlip]
    groups: Mapping[str, Mapping[str, GroupFlips]]
    own: int
    own_differ: int
    left_out: Mapping[str, int]


def stricter(then: str, new: str) -> int:
    """Return a positive number if the new outcome is stricter, a negative one if it is milder, else 0."""
    return _STRICTNESS[new] - _STRICTNESS[then]


_STRICTNESS: Final[Mapping[str, int]] = {outcome.value: place for place, outcome in enumerate(OUTCOMES)}


async def what_if(
    store: Store,
    vault: Vault,
    secrets: Secrets,
    scorer: Scorer,
    out: Path,
    *,
    since: int,
    before: int,
    by: Sequence[str] = (),
    progress: Callable[[int], None] = lambda verifications: None,
) -> WhatIf:
    """Decide the completed verifications of all clients again with a bundle that has the link keys of the history.

    Arrivals stay as they were: a follow-up is decided whether or not the bundle would have asked for it.

    Parameters
    ----------
    out : Path
        Ends in ``.parquet``: the columns of `SCHEMA` for each replayed verification, without personal data.
    since, before : int
        Microseconds: event times from `since` on and before `before`.
    by : sequence of str
        Fields of the identity, signals (with or without `signals.`) or `ageBand` to count flips by, besides the
        client.

    Raises
    ------
    ValueError
        If the name of the file has another ending, or `by` names what is no field of an identity and no signal of the
        bundle.
    UnknownMasterKey
        If the keyring lacks the master key of a person's key.
    """
    known = {AGE_BAND, *IDENTITY_FIELDS, *map(signal_field, scorer.contents.schema.signals)}
    if unknown := [name for name in by if not {name, signal_field(name)} & known]:
        raise ValueError(
            f"by: neither a field of an identity nor a signal of the bundle: {', '.join(unknown)}"
        )
    replayer = Replayer(store, secrets, scorer)
    tally = Tally(secrets, scorer, by)
    waiting: list[tuple[Any, ...]] = []
    async with store.reading() as reader:
        clients = {row.client: row for row in await reader.clients()}
    with private_parquet(out, SCHEMA) as writer:
        async for page in past_pages(store, vault, list(clients), since=since, before=before):
            client = clients[page.client]
            scores, left_out = await replayer.replay(client, page)
            tally.add(client, page, scores, left_out)
            waiting += [
                _cells(client, row, scores[row.id], page.labels[row.id].get("label"))
                for row in page.rows
                if row.id in scores
            ]
            if len(waiting) >= ROW_GROUP:
                writer.write_batch(_batch(waiting))
                waiting.clear()
            progress(tally.verifications)
        if waiting:
            writer.write_batch(_batch(waiting))
    return tally.result()


class Tally:
    """Counts pages of verifications."""

    def __init__(self, secrets: Secrets, scorer: Scorer, by: Sequence[str]) -> None:
        self._secrets = secrets
        self._versions = (scorer.manifest.model_version, scorer.manifest.policy_version)
        self._groups = {name: _Groups() for name in dict.fromkeys((CLIENT, *by))}
        self._left_out: Counter[str] = Counter()
        self._outcomes: Counter[tuple[str, str]] = Counter()
        self._flips: dict[tuple[str, str], OutcomeFlip] = defaultdict(OutcomeFlip)
        self._days: set[int] = set()
        self._times: list[int] = []
        self._differ = self._own = self._own_differ = 0
        self.verifications = 0

    def add(
        self, client: ClientRow, page: PastPage, scores: Mapping[bytes, Score], left_out: Mapping[bytes, str]
    ) -> None:
        """Count a page."""
        self.verifications += len(page.rows)
        self._left_out.update(left_out.values())
        replayed = [row for row in page.rows if row.id in scores]
        for row in replayed:
            self._count(row, scores[row.id], page.labels[row.id].get("label"))
        changes = [stricter(str(row.outcome_of_policy), scores[row.id].outcome) for row in replayed]
        for name, groups in self._groups.items():
            for row, value, change in zip(
                replayed, _values(client, page, replayed, name), changes, strict=True
            ):
                groups.add(value, row.key_id, change)
        if times := [row.completed_at or 0 for row in replayed]:
            self._times = [min(self._times[:1] + times), max(self._times[1:] + times)]
            self._days.update(at // DAY for at in times)

    def _count(self, row: VerificationRow, new: Score, label: object) -> None:
        then = str(row.outcome_of_policy)
        differs = (row.score, then, row.reasons) != (new.score, new.outcome, new.reasons)
        self._differ += differs
        self._outcomes[then, str(new.outcome)] += 1
        if change := stricter(then, new.outcome):
            self._flips[then, str(new.outcome)].add(new.reasons if change > 0 else row.reasons, label)
        if (row.model_version, row.policy_version) == self._versions:
            is_same_row = self._secrets.digest(Purpose.ROW, new.features) == row.row_digest
            self._own += 1
            self._own_differ += differs or not is_same_row

    def result(self) -> WhatIf:
        """Return the counts."""
        first, last = self._times or (None, None)
        return WhatIf(
            model_version=self._versions[0],
            policy_version=self._versions[1],
            verifications=self.verifications,
            replayed=sum(self._outcomes.values()),
            first=first,
            last=last,
            days=len(self._days),
            differ=self._differ,
            outcomes=self._outcomes,
            flips=self._flips,
            groups={name: groups.result() for name, groups in self._groups.items()},
            own=self._own,
            own_differ=self._own_differ,
            left_out=self._left_out,
        )


class _Groups:
    """Counts flips by the values of one column."""

    def __init__(self) -> None:
        self._found: dict[str, GroupFlips] = defaultdict(GroupFlips)
        self._persons: dict[str, set[bytes]] = defaultdict(set)

    def add(self, value: str, person: bytes, change: int) -> None:
        self._found[value].add(change)
        persons = self._persons[value]
        if len(persons) < MIN_GROUP_SIZE:
            persons.add(person)

    def result(self) -> dict[str, GroupFlips]:
        """Return the largest groups, and all others as one."""
        sizes = sorted(self._found, key=lambda value: (-self._found[value].verifications, value))
        held = [value for value in sizes if len(self._persons[value]) >= MIN_GROUP_SIZE]
        few = [value for value in sizes if len(self._persons[value]) < MIN_GROUP_SIZE]
        shown = {value: self._found[value] for value in held[:MAX_GROUPS]}
        for name, values in ((f"other (after the {MAX_GROUPS} largest)", held[MAX_GROUPS:]), (OTHER, few)):
            if values:
                shown[name] = merged = GroupFlips()
                for value in values:
                    merged.merge(self._found[value])
        return shown


def _values(client: ClientRow, page: PastPage, rows: Sequence[VerificationRow], name: str) -> list[str]:
    """Return the value of a column for each row, as text."""
    if name == CLIENT:
        return [client.client_id] * len(rows)
    opened = [page.opened[row.id] for row in rows]
    found = [
        _value(one, name if name != AGE_BAND else "dob") for one in opened if isinstance(one, OpenedValues)
    ]
    if name == AGE_BAND:
        found = _bands(found, [row.completed_at or 0 for row in rows])
    return [MISSING if value is None else value for value in found]


def _value(opened: OpenedValues, name: str) -> str | None:
    values = opened.identity | {signal_field(signal): value for signal, value in opened.signals.items()}
    value = values.get(name, values.get(signal_field(name)))
    return str(value).lower() if isinstance(value, bool) else None if value is None else str(value)


def _bands(births: Sequence[str | None], times: Sequence[int]) -> list[str | None]:
    known = sorted({birth for birth in births if birth is not None})
    codes = [-1 if birth is None else known.index(birth) for birth in births]
    column = age_bands(Column(tuple(known), np.array(codes, dtype=np.int32)), np.array(times, dtype=np.int64))
    return [None if code < 0 else str(column.values[code]) for code in column.codes.tolist()]


def _cells(client: ClientRow, row: VerificationRow, new: Score, label: object) -> tuple[Any, ...]:
    """Return the cells of a row of the file."""
    return (
        to_text(row.id),
        client.client_id,
        row.completed_at,
        row.score,
        row.outcome_of_policy,
        row.model_version,
        row.policy_version,
        new.score,
        str(new.outcome),
        row.outcome_of_policy != new.outcome,
        label,
    )


def _batch(rows: Sequence[tuple[Any, ...]]) -> pa.RecordBatch:
    columns = zip(*rows, strict=True)
    arrays = [pa.array(cells, field.type) for cells, field in zip(columns, SCHEMA, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, schema=SCHEMA)
