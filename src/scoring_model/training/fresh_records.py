"""Scores of fresh labelled records, counted as training counts those of its validation part."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial

import numpy as np

from scoring_model.arrays import IntArray
from scoring_model.bundle import ScoreCounts
from scoring_model.configuration import PolicySettings
from scoring_model.evaluation.coverage import select
from scoring_model.evaluation.stopped import ControlGroup
from scoring_model.history import person_codes
from scoring_model.history.rings import rings_of
from scoring_model.records import RecordTable, digest, rfc3339
from scoring_model.records.observation import unsampled, without_propensities
from scoring_model.scorer import Scorer
from scoring_model.scorer.frames import score_table
from scoring_model.training.boundaries import latest_instant
from scoring_model.training.preparation import counted_as_genuine, one_of_each
from scoring_model.training.split import thinned


class NotFresh(ValueError):
    """Labelled records cannot certify a policy: they are too old, or none of them is labelled and mature."""


@dataclass(frozen=True, kw_only=True, slots=True)
class FreshSample:
    """Fresh records, scored and counted.

    Parameters
    ----------
    origin : mapping of str to plain values
        Hash, number and period of the records, for the manifest.
    """

    counts: ScoreCounts
    origin: Mapping[str, object]


def count_fresh(
    scorer: Scorer,
    table: RecordTable,
    *,
    settings: PolicySettings,
    after: int,
    maturity: int,
    history: RecordTable | None = None,
    as_of: int | None = None,
) -> FreshSample:
    """Score labelled records and count the scores of one genuine record per person and one fraud per ring.

    Only records older than `maturity` count, so that one rule holds for frauds and genuine records.

    Parameters
    ----------
    table : RecordTable
        Its records see each other as history.
    settings : PolicySettings
        Bounds and confidence, set before the records were seen.
    after : int
        End of the validation part of the bundle, microseconds since 1970-01-01 UTC.
    maturity : int
        Microseconds after which an unlabelled record counts as genuine.
    history : RecordTable, optional
        Further earlier records, which are not counted.
    as_of : int, optional
        Instant, microseconds, before which labels count. None: just after the latest instant in the table.

    Raises
    ------
    NotFresh
        If records are from before `after`, or none counts; the message says how many and why.
    """
    _refuse_old(table, after)
    as_of = latest_instant(table.event_times, table.label_times) + 1 if as_of is None else as_of
    whole = table if history is None else history.append(table)
    before = len(whole) - len(table)
    persons = person_codes(whole, alone=True)
    sample = _sample(table, persons[before:], settings, as_of, maturity)
    scores = score_table(scorer, table, history=history, reasons=False).decisions.scores
    may_be = np.concatenate([sample.genuine, sample.beside])
    tested = one_of_each(persons[before + may_be])
    rings = rings_of(whole, persons, scorer.matrix.link_keys, before + sample.frauds)
    unknown_until = len(sample.genuine) + sample.stopped
    times = table.event_times[np.concatenate([may_be, sample.frauds])]
    counts = ScoreCounts.of_scores(
        persons=scores[may_be[tested]],
        rings=scores[sample.frauds[one_of_each(rings)]],
        genuine=scores[sample.genuine],
        frauds=scores[sample.frauds],
        limits=settings.limits(),
        confidence=settings.confidence,
        until=int(times.max()) + 1,
        stopped=int(np.count_nonzero((tested >= len(sample.genuine)) & (tested < unknown_until))),
    )
    origin = {
        "policy_sha256": digest(table),
        "policy_records": len(times),
        "policy_from": rfc3339(int(times.min())),
        "policy_to": rfc3339(int(times.max())),
    }
    return FreshSample(counts=counts, origin=origin)


@dataclass(frozen=True, kw_only=True, slots=True)
class _Sample:
    """Rows that certify bounds: a plain sample, and those that count as genuine beside it, stopped ones first."""

    genuine: IntArray
    frauds: IntArray
    beside: IntArray
    stopped: int


def _sample(
    table: RecordTable, persons: IntArray, settings: PolicySettings, as_of: int, maturity: int
) -> _Sample:
    """Choose the records that count as a training does: the tests of the bounds are for a plain sample."""
    choose = partial(select, as_of=as_of, maturity=maturity, matured_only=True)
    selection, control = choose(without_propensities(table)), None
    if table.propensities is not None:
        control = ControlGroup.of(1.0 / table.propensities[selection.rows], selection.targets)
    if control is not None and not control.stands_for_all:
        selection = choose(unsampled(table))  # as without a control group
    if not len(selection.rows):
        reasons = "; ".join(f"{count}: {reason}" for reason, count in selection.coverage.describe().items())
        raise NotFresh(f"no fresh record counts ({reasons or 'there are no records'})")
    rows, targets = selection.rows, selection.targets
    stopped = selection.stopped[selection.stopped_labels != 1]
    drawn = np.ones(len(rows), dtype=np.bool_)
    if table.propensities is not None and control is not None and control.stands_for_all:
        kept = np.isin(np.arange(len(table)), rows)
        drawn = thinned(table.propensities, kept, np.argsort(table.event_times, kind="stable"))[rows]
    genuine, frauds = (rows[drawn & (targets == target)] for target in (0, 1))
    beside = counted_as_genuine(
        control,
        genuine=genuine,
        stopped=stopped,
        spare=rows[~drawn & (targets == 0)],
        persons=persons,
        settings=settings,
    )
    return _Sample(genuine=genuine, frauds=frauds, beside=beside, stopped=len(stopped) if len(beside) else 0)


def _refuse_old(table: RecordTable, after: int) -> None:
    old = int(np.count_nonzero(table.event_times < after))
    if old:
        raise NotFresh(
            f"{old} of {len(table)} records are from before {rfc3339(after)}, the end of the records that certified "
            "the bundle's policy; give those as a history instead"
        )
