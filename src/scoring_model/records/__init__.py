"""Records: the contract of identities and signals, parsing, normalisation, tables in and quarantine out.

What reads whole sources (`reading`, `quarantine`) is imported by its own name: it brings a table library,
which one record never needs.
"""

from scoring_model.contract.rules import DOCUMENT_TYPES, Rule, RuleError, SignalType
from scoring_model.records.contract import InvalidRecord, parse_record
from scoring_model.records.digest import digest
from scoring_model.records.durations import Duration, Instant
from scoring_model.records.normalisation import NORMALISATION_VERSION, normaliser
from scoring_model.records.problems import Problem, RowProblem
from scoring_model.records.record import Record
from scoring_model.records.schema import LabelSchema, RecordSchema
from scoring_model.records.table import NEVER, Column, RecordTable
from scoring_model.records.times import format_duration, microseconds, parse_duration, rfc3339

__all__ = [
    "DOCUMENT_TYPES",
    "NEVER",
    "NORMALISATION_VERSION",
    "Column",
    "Duration",
    "Instant",
    "InvalidRecord",
    "LabelSchema",
    "Problem",
    "Record",
    "RecordSchema",
    "RecordTable",
    "RowProblem",
    "Rule",
    "RuleError",
    "SignalType",
    "digest",
    "format_duration",
    "microseconds",
    "normaliser",
    "parse_duration",
    "parse_record",
    "rfc3339",
]
