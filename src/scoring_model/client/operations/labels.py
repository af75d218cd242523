"""Requests about labels."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime

from scoring_model.client.request import Request, resource
from scoring_model.contract.label import LabelReport

_PATH = "/scoring/v1/labels"
_read = resource(LabelReport)


@dataclass(frozen=True, slots=True, kw_only=True)
class Label:
    """What became known about a verification, all verifications of an identity, or an imported record.

    Parameters
    ----------
    label : str
        ``fraud``, ``genuine`` or, to take back what was reported before, ``withdrawn``.
    known_at : datetime
        When it became known, with a time zone.
    verification_id, identity_id, record_id : str or None
        Exactly one of them; `record_id` is that of a record in an imported history.
    """

    label: str
    known_at: datetime
    verification_id: str | None = None
    identity_id: str | None = None
    record_id: str | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        if self.known_at.tzinfo is None:
            raise ValueError("known_at must have a time zone")

    def body(self) -> dict[str, str]:
        """The label as it is sent."""
        sent = {
            "verificationId": self.verification_id,
            "identityId": self.identity_id,
            "recordId": self.record_id,
            "label": self.label,
            "knownAt": self.known_at.isoformat(),
        }
        return {name: value for name, value in sent.items() if value is not None}


def create(labels: Iterable[Label], *, idempotency_key: str | None = None) -> Request[LabelReport]:
    """Report labels, at most 1,000 at once. Reporting one again changes nothing.

    Parameters
    ----------
    labels : iterable of Label
    idempotency_key : str or None
        As for `identities.create`.

    Returns
    -------
    LabelReport
        A result for each label, in order: CREATED, UNCHANGED, or REFUSED with its errors; the others are stored then.

    Raises
    ------
    Invalid
        If there are no labels or too many.
    """
    body = {"labels": [label.body() for label in labels]}
    return Request(
        method="POST", path=_PATH, read=_read, body=body, idempotency_key=idempotency_key, repeatable=True
    )
