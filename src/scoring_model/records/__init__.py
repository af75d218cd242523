"""Records: the contract of identities and signals, parsing, normalisation, tables in and quarantine out.

What reads whole sources (`reading`, `quarantine`) is imported by its own name: it brings a table library,
which one record never needs.
"""

from scoring_model.contract.rules import DOCUMENT_TYPES, Rule, RuleError, SignalType
from scoring_model.contract.texts import rfc3339
from scoring_model.records.file_format import FileFormat
from scoring_model.records.normalisation import NORMALISATION_VERSION, normaliser
from scoring_model.records.record import InvalidRecord, Record, RowViolation, parse_record
from scoring_model.records.schema import LabelSchema, Names, OutcomeSchema, RecordSchema, StepUps
from scoring_model.records.table import NEVER, Column, RecordTable, digest
from scoring_model.records.times import (
    Duration,
    Instant,
    ShareOrDuration,
    format_duration,
    microseconds,
    parse_duration,
)

__all__ = [
    "DOCUMENT_TYPES",
    "NEVER",
    "NORMALISATION_VERSION",
    "Column",
    "Duration",
    "FileFormat",
    "Instant",
    "InvalidRecord",
    "LabelSchema",
    "Names",
    "OutcomeSchema",
    "Record",
    "RecordSchema",
    "RecordTable",
    "RowViolation",
    "Rule",
    "RuleError",
    "ShareOrDuration",
    "SignalType",
    "StepUps",
    "digest",
    "format_duration",
    "microseconds",
    "normaliser",
    "parse_duration",
    "parse_record",
    "rfc3339",
]
