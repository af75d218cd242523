"""The columns of a history."""

import pyarrow as pa

NOTICE = "invented records: no person, address, document, image or device in them exists"
"""Stands in the metadata of every table that this room makes."""

_TIME = pa.timestamp("us", tz="UTC")
_FIELDS = (
    ("recordId", pa.string()),
    ("eventTime", _TIME),
    ("subjectId", pa.string()),
    ("externalId", pa.string()),
    ("firstName", pa.string()),
    ("lastName", pa.string()),
    ("dob", pa.string()),
    ("citizenship", pa.string()),
    ("documentType", pa.string()),
    ("imageUrls", pa.list_(pa.string())),
    ("address.line1", pa.string()),
    ("address.line2", pa.string()),
    ("address.city", pa.string()),
    ("address.region", pa.string()),
    ("address.postalCode", pa.string()),
    ("address.country", pa.string()),
    ("signals.deviceId", pa.string()),
    ("signals.ipCountry", pa.string()),
    ("signals.emailDomain", pa.string()),
    ("signals.channel", pa.string()),
    ("signals.emailAgeDays", pa.float64()),
    ("signals.formSeconds", pa.float64()),
    ("signals.vpn", pa.bool_()),
    ("signals.sex", pa.string()),
    ("label", pa.string()),
    ("labelKnownAt", _TIME),
)
_TRUTH = (("truth.kind", pa.string()), ("truth.person", pa.string()))


def schema(*, truth: bool) -> pa.Schema:
    """Columns of a history; with `truth` also the kind and the person behind each record."""
    fields = (*_FIELDS, *_TRUTH) if truth else _FIELDS
    return pa.schema(fields, metadata={"scoring_model.synthetic": NOTICE})
