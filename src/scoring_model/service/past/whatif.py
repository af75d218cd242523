"""What another bundle would have decided about past verifications: counts, flips and their reasons, and a file."""

from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

import numpy as np
import pyarrow as pa

from scoring_model.arrays import IntArray
from scoring_model.bundle.k_anonymity import MIN_GROUP_SIZE
from scoring_model.contract.fields import IDENTITY_FIELDS, signal_field
from scoring_model.contract.outcome import OUTCOMES, DecidedBy, Outcome
from scoring_model.contract.texts import to_text
from scoring_model.contract.units import DAY, HOUR
from scoring_model.decision.flips import FRAUD, GENUINE, SHAPE, UNLABELLED, count_flips, flip_codes, turns
from scoring_model.evaluation.grouping import AGE_BAND, MAX_GROUPS, MISSING, OTHER, age_bands
from scoring_model.records import Column
from scoring_model.scorer.scorer import Scorer
from scoring_model.service.core.rows import VerificationRow
from scoring_model.service.keys.data_keys import Vault
from scoring_model.service.keys.secrets import Purpose, Secrets
from scoring_model.service.past.export import ROW_GROUP, private_parquet
from scoring_model.service.past.pages import OpenedValues, PastPage, past_pages
from scoring_model.service.past.replay import Replayer
from scoring_model.service.past.tried import Hits, Tried
from scoring_model.service.scoring.overrides import OPERATOR_SENTENCES, Override, stored_override
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
        ("policyOutcome", _TEXT),
        ("modelVersion", _TEXT),
        ("policyVersion", _TEXT),
        ("whatifScore", pa.int16()),
        ("whatifOutcome", _TEXT),
        ("whatifDecidedBy", _TEXT),
        ("whatifDecidedByCode", _TEXT),
        ("flipped", pa.bool_()),
        ("label", _TEXT),
    ]
)
"""Columns of the file: the verdict, what score and thresholds alone decided, the verdict of the other bundle with the
lists and rules that are tried, whether it differs from that of score and thresholds, and the latest label."""


@dataclass(frozen=True, slots=True)
class GroupTurns:
    """Replayed verifications with one value of a column, and those with a stricter or milder outcome."""

    verifications: int
    stricter: int
    milder: int


@dataclass(frozen=True, slots=True, kw_only=True)
class WhatIf:
    """The result.

    Parameters
    ----------
    model_version, policy_version : str
        Those of the bundle that decided again.
    verifications : int
        Completed verifications of the period.
    first, last : int or None
        Event times of the first and the last of them, microseconds.
    days : int
        Days of 24 hours, counted from the first of them on, that have one.
    differ : int
        Those of them with another score, outcome or reasons.
    matrix : ndarray of shape (3, 3, 3), int64
        Replayed verifications by their label now (genuine, fraud, none), outcome then, and outcome by the bundle.
    reasons : mapping of (Outcome, Outcome) to Counter
        Of those with two outcomes, by both: verifications by reason code of the stricter of both decisions. A decision
        has up to five reasons.
    groups : mapping of str to mapping of str to GroupTurns
        By column and value, most verifications first. Values of fewer than five persons are one group.
    own, own_differ : int
        Replayed verifications that the same model and policy had decided, and those of them whose verdict or feature
        row differs in any bit: 0 unless link records were deleted by hand.
    left_out : mapping of str to int
        Verifications that can't be decided again, by the reason.
    hits : tuple of Hits
        Of the lists and rules that are tried, in the order in which they decide.
    """

    model_version: str
    policy_version: str
    verifications: int
    first: int | None
    last: int | None
    days: int
    differ: int
    matrix: IntArray
    reasons: Mapping[tuple[Outcome, Outcome], Counter[str]]
    groups: Mapping[str, Mapping[str, GroupTurns]]
    own: int
    own_differ: int
    left_out: Mapping[str, int]
    hits: tuple[Hits, ...] = ()

    @property
    def replayed(self) -> int:
        """Verifications that were decided again."""
        return int(self.matrix.sum())

    @property
    def flipped(self) -> int:
        """Those of them with another outcome."""
        _, stricter, milder = turns(self.matrix)
        return int((stricter + milder).sum())


_NOTHING: Final[Mapping[bytes, Override]] = {}
_CLASSES: Final = {"genuine": GENUINE, "fraud": FRAUD}
_CODES: Final[Mapping[str | None, int]] = {outcome.value: code for code, outcome in enumerate(OUTCOMES)}


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
    tried: Tried | None = None,
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
    tried : Tried, optional
        Lists and rules that decide before the bundle. They are compared with what score and thresholds decided then.

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
    with private_parquet(out, SCHEMA) as writer:
        async for page in past_pages(store, vault, since=since, before=before):
            scores, left_out = await replayer.replay(page)
            overrides = {} if tried is None else tried.decide(page, scores)
            tally.add(page, scores, left_out, overrides)
            waiting += [
                _cells(page, row, scores[row.id], overrides.get(row.id))
                for row in page.rows
                if row.id in scores
            ]
            if len(waiting) >= ROW_GROUP:
                writer.write_batch(_batch(waiting))
                waiting.clear()
            progress(tally.verifications)
        if waiting:
            writer.write_batch(_batch(waiting))
    return replace(tally.result(), hits=() if tried is None else tried.result())


class Tally:
    """Counts pages of verifications."""

    def __init__(self, secrets: Secrets, scorer: Scorer, by: Sequence[str]) -> None:
        self._secrets = secrets
        self._versions = (scorer.manifest.model_version, scorer.manifest.policy_version)
        self._groups = {name: GroupTally() for name in dict.fromkeys((CLIENT, *by))}
        self._left_out: Counter[str] = Counter()
        self._matrix = np.zeros(SHAPE, dtype=np.int64)
        self._reasons: dict[tuple[Outcome, Outcome], Counter[str]] = defaultdict(Counter)
        self._hours: set[int] = set()
        self._times: list[int] = []
        self._differ = self._own = self._own_differ = 0
        self.verifications = 0

    def add(
        self,
        page: PastPage,
        scores: Mapping[bytes, Score],
        left_out: Mapping[bytes, str],
        overrides: Mapping[bytes, Override] = _NOTHING,
    ) -> None:
        """Count a page, with what lists and rules make of its new decisions."""
        self.verifications += len(page.rows)
        self._left_out.update(left_out.values())
        replayed = [row for row in page.rows if row.id in scores]
        if not replayed:
            return
        codes = flip_codes(
            np.array([_CLASSES.get(str(page.labels[row.id].get("label")), UNLABELLED) for row in replayed]),
            np.array([_CODES[row.outcome_of_policy] for row in replayed]),
            np.array([_CODES[overrides.get(row.id, scores[row.id]).outcome] for row in replayed]),
        )
        self._matrix += count_flips(codes)[0]
        for row in replayed:
            self._count(row, scores[row.id], overrides.get(row.id))
        for name, groups in self._groups.items():
            groups.add(_values(page, replayed, name), [row.key_id for row in replayed], codes)
        times = [row.completed_at or 0 for row in replayed]
        self._times = [min(self._times[:1] + times), max(self._times[1:] + times)]
        self._hours.update(at // HOUR for at in times)

    def _count(self, row: VerificationRow, new: Score, override: Override | None) -> None:
        then, outcome, given = Outcome(str(row.outcome_of_policy)), new.outcome, new.reasons
        differs = (row.score, then, row.reasons) != (
            new.score,
            outcome,
            stored_override(row).reasons(given),
        )
        if override is not None:
            outcome, given = override.outcome, override.reasons(given)
        self._differ += differs or outcome is not new.outcome
        if then != outcome:
            reasons = given if _CODES[outcome] > _CODES[then] else _of_model(row.reasons or "")
            self._reasons[then, outcome].update(filter(None, reasons.split(",")))
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
            first=first,
            last=last,
            days=0 if first is None else len({max(hour * HOUR - first, 0) // DAY for hour in self._hours}),
            differ=self._differ,
            matrix=self._matrix,
            reasons=self._reasons,
            groups={name: groups.result() for name, groups in self._groups.items()},
            own=self._own,
            own_differ=self._own_differ,
            left_out=self._left_out,
        )


class GroupTally:
    """Counts flips by the values of one column."""

    def __init__(self) -> None:
        self._found: dict[str, IntArray] = {}  # verifications, stricter, milder
        self._persons: dict[str, set[bytes]] = defaultdict(set)

    def add(self, values: Sequence[str], persons: Sequence[bytes], codes: IntArray) -> None:
        """Count a page of records by their values, persons and codes of `flip_codes`."""
        names, groups = np.unique(np.array(values, dtype=object), return_inverse=True)
        counts = np.stack(turns(count_flips(codes, groups, len(names)))).sum(axis=-1).T
        for name, numbers in zip(names.tolist(), counts, strict=True):
            self._found[name] = self._found.get(name, 0) + numbers
        for value, person in zip(values, persons, strict=True):
            known = self._persons[value]
            if len(known) < MIN_GROUP_SIZE:
                known.add(person)

    def result(self) -> dict[str, GroupTurns]:
        """Return the largest groups, and all others as one."""
        sizes = sorted(self._found, key=lambda value: (-self._found[value][0], value))
        held = [value for value in sizes if len(self._persons[value]) >= MIN_GROUP_SIZE]
        few = [value for value in sizes if len(self._persons[value]) < MIN_GROUP_SIZE]
        shown = [
            *((value, [value]) for value in held[:MAX_GROUPS]),
            (f"other (after the {MAX_GROUPS} largest)", held[MAX_GROUPS:]),
            (OTHER, few),
        ]
        found = {
            name: np.sum([self._found[one] for one in values], axis=0) for name, values in shown if values
        }
        return {name: GroupTurns(*numbers.tolist()) for name, numbers in found.items()}


def _values(page: PastPage, rows: Sequence[VerificationRow], name: str) -> list[str]:
    """Return the value of a column for each row, as text."""
    if name == CLIENT:
        return [page.client.client_id] * len(rows)
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


def _of_model(reasons: str) -> str:
    """Return comma-separated reasons without those of lists and rules of then."""
    return ",".join([code for code in reasons.split(",") if code not in OPERATOR_SENTENCES])


def _cells(page: PastPage, row: VerificationRow, new: Score, override: Override | None) -> tuple[Any, ...]:
    """Return the cells of a row of the file."""
    outcome, by, code = new.outcome, DecidedBy.POLICY, None
    if override is not None:
        outcome, by, code = override.outcome, override.decided_by, override.code
    return (
        to_text(row.id),
        page.client.client_id,
        row.completed_at,
        row.score,
        row.outcome,
        row.outcome_of_policy,
        row.model_version,
        row.policy_version,
        new.score,
        outcome.value,
        by.value,
        code,
        row.outcome_of_policy != outcome,
        page.labels[row.id].get("label"),
    )


def _batch(rows: Sequence[tuple[Any, ...]]) -> pa.RecordBatch:
    columns = zip(*rows, strict=True)
    arrays = [pa.array(cells, field.type) for cells, field in zip(columns, SCHEMA, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, schema=SCHEMA)
