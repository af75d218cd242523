"""Counts of scores among the records that certified the policy: what the choice of another policy needs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final, Self

import numpy as np

from scoring_model.arrays import IntArray
from scoring_model.bundle.codec import json_bytes, read_json
from scoring_model.bundle.contents import SCORE_COUNTS
from scoring_model.bundle.errors import ContentInvalid
from scoring_model.bundle.reader import SealedFiles
from scoring_model.decision.document import check_document, count, fields, share, text
from scoring_model.decision.scale import MAX_SCORE
from scoring_model.records import microseconds, rfc3339

_KINDS: Final = ("persons", "rings", "genuine", "frauds")


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class ScoreCounts:
    """How many records have each score, in the sample that certified the policy.

    No record is in it, and nothing but its score is counted. The counts are exact, since the tests of the bounds depend
    on single records at high scores.

    Parameters
    ----------
    persons, rings : ndarray of shape (1001,), int64
        The tested records by score, 0 to 1000: one genuine record per person, one fraud per ring.
    genuine, frauds : ndarray of shape (1001,), int64
        All records of the sample by score; the expected cost is their average.
    limits : mapping of str to float
        The bounds that were set before the sample was scored, by name; each share is in (0, 1).
    confidence : float
        Probability, in (0, 1), with which all thresholds certified for these bounds keep them.
    until : int
        End of the period of the sample, microseconds since 1970-01-01 UTC.
    stopped : int
        How many of the tested persons were stopped: what they were is not known, and each counts as genuine.
    """

    persons: IntArray
    rings: IntArray
    genuine: IntArray
    frauds: IntArray
    limits: Mapping[str, float]
    confidence: float
    until: int
    stopped: int = 0

    @classmethod
    def of_scores(
        cls,
        *,
        persons: IntArray,
        rings: IntArray,
        genuine: IntArray,
        frauds: IntArray,
        limits: Mapping[str, float],
        confidence: float,
        until: int,
        stopped: int = 0,
    ) -> Self:
        """Count scores, arrays of int64 from 0 to 1000."""
        return cls(
            persons=_counted(persons),
            rings=_counted(rings),
            genuine=_counted(genuine),
            frauds=_counted(frauds),
            limits=MappingProxyType(dict(limits)),
            confidence=confidence,
            until=until,
            stopped=stopped,
        )

    @classmethod
    def of(cls, sealed: SealedFiles) -> Self:
        """Read the counts of a bundle."""
        return cls.from_bytes(sealed.file(SCORE_COUNTS))

    def to_bytes(self) -> bytes:
        """Return the counts as canonical JSON, without the scores that no record has."""
        plain: dict[str, object] = {kind: _present(getattr(self, kind)) for kind in _KINDS}
        plain |= {"limits": self.limits, "confidence": self.confidence, "until": rfc3339(self.until)}
        plain |= {"stopped": self.stopped} if self.stopped else {}
        return json_bytes(plain)

    @classmethod
    def from_bytes(cls, data: bytes) -> Self:
        """Read the result of `to_bytes`.

        Raises
        ------
        ContentInvalid
            If the bytes are anything else.
        """
        document = read_json(data)
        try:
            plain = check_document("counts of scores", document, _document)
            counts = cls(
                **{kind: _histogram(plain[kind]) for kind in _KINDS},
                limits=MappingProxyType(plain["limits"]),
                confidence=plain["confidence"],
                until=microseconds(plain["until"]),
                stopped=plain.get("stopped", 0),
            )
        except (ValueError, IndexError, OverflowError) as error:
            raise ContentInvalid(str(error)) from None
        if counts.to_bytes() != data:
            raise ContentInvalid("not counts of scores in canonical form")
        return counts


def _counted(scores: IntArray) -> IntArray:
    return np.bincount(scores, minlength=MAX_SCORE + 1)


def _present(counts: IntArray) -> dict[str, int]:
    return {str(score): int(counts[score]) for score in np.flatnonzero(counts).tolist()}


def _histogram(plain: Mapping[str, int]) -> IntArray:
    counts = np.zeros(MAX_SCORE + 1, dtype=np.int64)
    for score, number in plain.items():
        counts[int(score)] = number
    return counts


_document: Final = fields(
    {
        **dict.fromkeys(_KINDS, fields({}, others=count)),
        "limits": fields({}, others=share),
        "confidence": share,
        "until": text,
    },
    optional={"stopped": count},
)
