"""A configuration that is proposed step by step, and what its steps ask of the file."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np

from scoring_model.arrays import FloatArray, IntArray
from scoring_model.configuration.headers import tells
from scoring_model.configuration.profiles import Kind, Profile
from scoring_model.configuration.proposal.label_columns import words_in
from scoring_model.configuration.proposal.matching import person_words, rank
from scoring_model.configuration.proposal.split import Parts
from scoring_model.configuration.proposal.windows import Lengths
from scoring_model.configuration.synonyms import HEADERS
from scoring_model.contract.fields import REQUIRED_FIELDS, SIGNAL_PREFIX, signal_field
from scoring_model.features import DERIVED, FeatureMatrix, FeatureSettings, FittedState
from scoring_model.records import cells
from scoring_model.records.schema import ANY

NEARLY_ALL: Final = 0.95
FEWEST: Final = 20  # minimum frauds and genuine records to judge whether a column copies the label


@dataclass(frozen=True, kw_only=True)
class Signal:
    """A column that becomes a signal."""

    name: str
    column: str
    type: str
    protected: str | None = None


@dataclass(frozen=True, kw_only=True)
class Amount:
    """A signal that is compared with its earlier values."""

    signal: str
    decimals: int


@dataclass(frozen=True, kw_only=True)
class Given:
    """What another source knows of a file.

    Parameters
    ----------
    fields : mapping of str to str
        Field by column.
    kinds : mapping of str to Kind
        Kinds by column.
    linking : sequence of str
        Columns that link records, the best ones first.
    left_out : mapping of str to str
        Reasons for unused columns, by column.
    words : mapping of str to list of str
        Words of the label by meaning.
    """

    fields: Mapping[str, str]
    kinds: Mapping[str, Kind]
    linking: Sequence[str]
    left_out: Mapping[str, str]
    words: Mapping[str, list[str]]


@dataclass(kw_only=True)
class Proposal:
    """A configuration that is proposed step by step, with notes for the person who completes it.

    Parameters
    ----------
    profiles : dict of str to Profile
        The columns of the file.
    nulls : tuple of str
        Cells that mean a missing value.
    decimal : str or None
        The decimal mark of numbers, where it must be named.
    guesses : tuple of str
        What was inferred while reading the file.
    fields : dict of str to str
        Field to its column.
    clocks : dict of str to str
        Field of a time to the column of its times of day, where another one holds its days.
    words : dict of str to list of str
        Words of the label: fraud, genuine, ignored.
    outcomes : dict of str to list of str
        Words of outcomes and resolutions by their meaning.
    values : dict of str to dict of str to str
        By field: its words, and what they mean in the contract.
    typed : frozenset of str
        Columns that are signals of a given kind, whatever else they look like.
    linking : tuple of str
        Columns that link records better than others, the best first.
    customer : tuple of str
        Columns that make a link key of customers, whom no field names.
    amounts : list of Amount
        Signals that are compared with earlier ones under the link keys.
    event : str
        What reasons call a record.
    lengths : Lengths
        The label delay, the windows and the burn-in.
    parts : Parts
        The parts of the split.
    partly_known : bool
        Whether some labels have no time at which they became known.
    ends : int
        Latest instant in the file, microseconds, where a column says when labels became known; else 0.
    left_out : dict of str to str
        Reasons for unused columns, by column.
    decisions : list of str
        Decisions left to a person.
    timezone : str, optional
        The zone of times without one, and of the hours that features read.
    """

    profiles: dict[str, Profile]
    nulls: tuple[str, ...]
    decimal: str | None
    guesses: tuple[str, ...]
    fields: dict[str, str] = field(default_factory=dict)
    clocks: dict[str, str] = field(default_factory=dict)
    words: dict[str, list[str]] = field(default_factory=dict)
    outcomes: dict[str, list[str]] = field(default_factory=dict)
    values: dict[str, dict[str, str]] = field(default_factory=dict)
    signals: list[Signal] = field(default_factory=list)
    typed: frozenset[str] = frozenset()
    linking: tuple[str, ...] = ()
    customer: tuple[str, ...] = ()
    keys: dict[str, tuple[str, ...]] = field(default_factory=dict)
    amounts: list[Amount] = field(default_factory=list)
    event: str = "application"
    lengths: Lengths = field(init=False)
    parts: Parts = field(default_factory=Parts)
    partly_known: bool = False
    ends: int = 0
    max_false_reject: float = 0.002
    left_out: dict[str, str] = field(default_factory=dict)
    decisions: list[str] = field(default_factory=list)
    timezone: str | None = None

    def numbers(self, values: Sequence[object]) -> FloatArray:
        """Read cells as numbers; nan where one is none."""
        read = map(cells.NUMBERS[self.decimal], values)
        return np.array([value if isinstance(value, int | float) else np.nan for value in read], dtype=float)

    def free(self) -> list[Profile]:
        """List the columns that are not used yet."""
        used = {*self.fields.values(), *self.clocks.values(), *self.left_out}
        return [column for column in self.profiles.values() if column.name not in used]

    def untyped(self) -> list[Profile]:
        """List those of them that may be fields."""
        return [column for column in self.free() if column.name not in self.typed]

    def of(self, name: str) -> Profile | None:
        """Return the column of a field."""
        return self.profiles[self.fields[name]] if name in self.fields else None

    @property
    def families(self) -> tuple[str, ...]:
        """List the feature families that these columns support."""
        known = {*self.fields, *DERIVED}
        return tuple(
            family.name
            for family in FeatureMatrix(FeatureSettings(), FittedState()).families
            if family.name == "signals"
            or any(
                feature.protected is None and known.issuperset(feature.inputs)
                for group in family.groups
                for feature in group.features
            )
        )

    @property
    def identity_requires(self) -> tuple[str, ...]:
        """List what the service may require of an identity: fields that nearly every record has."""
        columns = {name: self.of(name) for name in REQUIRED_FIELDS}
        return tuple(name for name, column in columns.items() if column and column.filled > NEARLY_ALL)

    @property
    def dates(self) -> tuple[str, ...]:
        """List the formats of all times that are read."""
        used = [column.formats for name in self.fields if (column := self.of(name)) is not None]
        return tuple(dict.fromkeys(text for formats in used for text in formats))

    @property
    def columns(self) -> dict[str, str]:
        """Return the columns whose names differ from their field or signal."""
        named = self.fields | {signal_field(signal.name): signal.column for signal in self.signals}
        return {
            name: column
            for name, column in named.items()
            if column not in (name, name.removeprefix(SIGNAL_PREFIX)) or name in self.clocks
        }

    @property
    def persons(self) -> frozenset[str]:
        """Return the words of headers that name a person in this file."""
        return person_words(tuple(column.words for column in self.profiles.values()))

    @property
    def around_street(self) -> frozenset[str]:
        """Return the words around that for the street, which name the other parts of the same address too."""
        street = self.of("address.line1")
        parts = () if street is None else street.words.split("_")
        return frozenset(part for part in parts if not tells(part.rstrip("1"), HEADERS["address.line1"]))

    def likeliest(
        self, name: str, kinds: Sequence[Kind], fits: Callable[[Profile], bool] = lambda _: True
    ) -> Profile | None:
        """Return the unused column of the given kinds whose name best matches a field, of those whose cells fit."""
        around = self.persons | (self.around_street if name.startswith("address.") else frozenset())
        named = [
            (place, column)
            for column in self.untyped()
            if column.kind in kinds and (place := rank(column, name, around)) is not None
        ]
        named.sort(key=lambda one: one[0])
        return next((column for _, column in named if fits(column)), None)

    def targets(self) -> IntArray:
        """1 fraud, 0 genuine, -1 none."""
        column = self.of("label")
        if column is None:
            return np.empty(0, dtype=np.int64)
        named = {word: target for target, kind in ((1, "fraud"), (0, "genuine")) for word in self.words[kind]}
        named |= dict.fromkeys(self.words.get("ignored", ()), -1)
        others = 1 if ANY in named else -1
        meanings = [named.get(word, others) for word in words_in(column)]
        return np.array([*meanings, -1], dtype=np.int64)[column.column.codes]
