"""The configuration of one use: which records, which features, how to train, what to promise."""

import fnmatch
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated
from zoneinfo import available_timezones

from pydantic import PlainValidator
from pydantic_core import PydanticCustomError

from scoring_model.bundle import Use, reason_factors
from scoring_model.configuration.findings import FindingSettings
from scoring_model.configuration.policy import PolicySettings
from scoring_model.configuration.reading import NO_TEXT, ConfigurationError, read_settings, read_yaml
from scoring_model.configuration.training import SplitSettings, TrainingSettings, longest_burn_in
from scoring_model.contract.fields import IDENTITY_FIELDS, signal_field
from scoring_model.contract.violation import Invalid, Violation, check_fields, pointer
from scoring_model.features import (
    DEFAULT_FAMILIES,
    FamilyName,
    FeatureMatrix,
    FeatureSettings,
    FittedState,
    LinkSettings,
    MailProviders,
    SignalSettings,
)
from scoring_model.records import FileFormat, LabelSchema, Names, OutcomeSchema, RecordSchema, StepUps
from scoring_model.records.near_misses import did_you_mean


def _column_names(given: object) -> str | tuple[str, str]:
    match given:
        case str():
            return given
        case [str() as day, str() as clock]:
            return day, clock
        case list() | tuple():
            raise ValueError("must name two columns: that of the day, and that of the time of day")
    raise PydanticCustomError("string_type", NO_TEXT)


ColumnNames = Annotated[
    str | tuple[str, str],
    PlainValidator(_column_names, json_schema_input_type=str | tuple[str, str]),
]


@dataclass(frozen=True, kw_only=True, slots=True)
class RecordSettings:
    """Columns and labels of a file of records.

    Parameters
    ----------
    columns : mapping of str to str or (str, str)
        Field of the contract to the column that holds it, where the names differ; a time to that of its day and that
        of its time of day, where two columns hold it.
    outcomes : OutcomeSchema
        Words of what was decided, in the columns of `outcome` and `resolution`.
    step_up_without_resolution : {"not_observed", "observed"}
        Whether applicants who were stepped up went on, where no resolution says how that ended.
    format : FileFormat
        How values are written in files.
    max_bad_share : float
        Share of bad rows, in [0, 1], above which a run stops.
    names : {"contract", "own"}, optional
        Whose names count in a file that has the columns of both; without it such a file is refused.
    """

    columns: Mapping[str, ColumnNames] = field(default_factory=dict)
    labels: LabelSchema = field(default_factory=LabelSchema)
    outcomes: OutcomeSchema = field(default_factory=OutcomeSchema)
    step_up_without_resolution: StepUps = "not_observed"
    format: FileFormat = field(default_factory=FileFormat)
    max_bad_share: float = 0.01
    names: Names | None = None

    def __post_init__(self) -> None:
        check_fields(self, ("max_bad_share", "in [0, 1]", 0 <= self.max_bad_share <= 1))


@dataclass(frozen=True, kw_only=True, slots=True)
class FeatureChoice:
    """Which features of the catalogue are used.

    Parameters
    ----------
    families : tuple of str
        Families of features of the record. Links have separate settings.
    use_protected : tuple of str
        Protected attributes that features may read.
    exclude : tuple of str
        Names or patterns of features to leave out, such as ``link_*_1h_*``.
    drop_useless : bool
        Whether to leave out features that are constant, always missing or duplicates in the training rows.
    keep : tuple of str
        Names of features that stay even so, since rules of operators read them.
    time_zone : str, optional
        IANA name of the zone of hour, weekday, night and weekend, such as ``Europe/Paris``.
    mail_providers : MailProviders
        Domains of mail providers, beside those that the package lists.
    """

    families: tuple[FamilyName, ...] = DEFAULT_FAMILIES
    use_protected: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    drop_useless: bool = True
    keep: tuple[str, ...] = ()
    time_zone: str | None = None
    mail_providers: MailProviders = field(default_factory=MailProviders)

    def __post_init__(self) -> None:
        if self.time_zone is None or self.time_zone in available_timezones():
            return
        hint = did_you_mean(self.time_zone, sorted(available_timezones()), otherwise=", such as Europe/Paris")
        raise Invalid([Violation(pointer("time_zone"), "unknown_zone", f"must be an IANA time zone{hint}")])


@dataclass(frozen=True, kw_only=True, slots=True)
class Configuration:
    """The configuration of one use.

    Parameters
    ----------
    name : str
        Name of the use; the model version begins with it.
    use : Use
        Words of reasons and reports for scored subjects and events.
    findings : FindingSettings
        Codes of findings that are muted, in the training and in evaluations of its bundle.
    """

    name: str
    use: Use = field(default_factory=Use)
    records: RecordSettings = field(default_factory=RecordSettings)
    signals: Mapping[str, SignalSettings] = field(default_factory=dict)
    links: LinkSettings = field(default_factory=LinkSettings)
    features: FeatureChoice = field(default_factory=FeatureChoice)
    training: TrainingSettings = field(default_factory=TrainingSettings)
    policy: PolicySettings = field(default_factory=PolicySettings)
    findings: FindingSettings = field(default_factory=FindingSettings)

    @property
    def schema(self) -> RecordSchema:
        """Return the schema of the records."""
        columns = self.records.columns
        return RecordSchema(
            columns={name: given if isinstance(given, str) else given[0] for name, given in columns.items()},
            clocks={name: given[1] for name, given in columns.items() if not isinstance(given, str)},
            signals={name: settings.type for name, settings in self.signals.items()},
            labels=self.records.labels,
            outcomes=self.records.outcomes,
            step_ups=self.records.step_up_without_resolution,
            format=self.records.format,
            names=self.records.names,
        )

    def split_over(self, span: int) -> SplitSettings:
        """Return the split settings with resolved burn-in and gap.

        Parameters
        ----------
        span : int
            Microseconds from the first event to the as-of instant.
        """
        given = self.training.split
        longest = min(self.feature_settings.links.reach, longest_burn_in(span))
        return replace(
            given, burn_in=longest if given.burn_in is None else given.burn_in, gap=given.gap_length
        )

    def with_names(self, names: Names | None) -> "Configuration":
        """Return the configuration with another `records.names`; itself for None."""
        return self if names is None else replace(self, records=replace(self.records, names=names))

    def trained_as_of(self, instant: int) -> "Configuration":
        """Return the configuration with another as-of instant of its training, in microseconds."""
        cut = replace(self.training.split, as_of=instant)
        return replace(self, training=replace(self.training, split=cut))

    @property
    def feature_settings(self) -> FeatureSettings:
        """Return the feature settings, with resolved exclusion patterns and the delay of delayed windows."""
        links = self.links
        if links.delay is None:
            links = replace(links, delay=self.records.labels.delay)
        every = FeatureSettings(
            signals=self.signals,
            links=links,
            families=self.features.families,
            use_protected=self.features.use_protected,
            time_zone=self.features.time_zone,
            mail_providers=self.features.mail_providers,
        )
        exclude = self.features.exclude
        if any(re.search(r"[*?\[]", name) for name in exclude):
            known = _feature_names(every)
            exclude = tuple(
                dict.fromkeys(name for part in exclude for name in fnmatch.filter(known, part) or [part])
            )
        return replace(every, exclude=exclude)


def _feature_names(settings: FeatureSettings) -> list[str]:
    """List all possible features; fitting does not change their names."""
    return [feature.name for feature in FeatureMatrix(settings, FittedState()).catalogue]


def load_configuration(path: str | Path) -> Configuration:
    """Read the configuration of one use.

    Parameters
    ----------
    path : str or Path
        A YAML file.

    Raises
    ------
    ConfigurationError
        With all violations found.
    """
    configuration = read_settings(Configuration, read_yaml(Path(path)))
    if violations := tuple(_violations(configuration)):
        raise ConfigurationError(violations)
    return configuration


def _violations(configuration: Configuration) -> Iterator[Violation]:
    """Check rules that involve several sections."""
    try:
        _ = configuration.schema
    except Invalid as error:
        yield from (found.within("records") for found in error.violations)
    try:
        matrix = FeatureMatrix(configuration.feature_settings, FittedState())
        _ = reason_factors(matrix, use=configuration.use, share=configuration.policy.reason_share)
        for name in configuration.features.keep:
            if name not in matrix.names:
                detail = f"no feature in use is named {name!r}{did_you_mean(name, sorted(matrix.names))}"
                yield Violation(pointer("features", "keep"), "unknown_name", detail)
    except Invalid as error:
        yield from error.violations
    except ValueError as error:
        yield from tuple(_unknown_names(configuration)) or [Violation("", "invalid", str(error))]
    if configuration.training.thinning is not None and "label_statistics" in configuration.features.families:
        detail = "label_statistics counts all records, of which training.thinning leaves some out"
        yield Violation(pointer("features", "families"), "thinned", detail)
    signals = [signal_field(name) for name in configuration.signals]
    for key in configuration.links.link_keys:
        for field_ in key.fields:
            if field_ not in (*IDENTITY_FIELDS, *signals):
                detail = f"there is no signal of the field {field_}{did_you_mean(field_, signals)}"
                yield Violation(pointer("links", "keys", key.name), "unknown_field", detail)


def _unknown_names(configuration: Configuration) -> Iterator[Violation]:
    """Report unknown features and attributes with the nearest known name."""
    settings = configuration.feature_settings
    catalogue = FeatureMatrix(replace(settings, exclude=()), FittedState()).catalogue
    attributes = sorted({feature.protected for feature in catalogue if feature.protected is not None})
    known = {"exclude": [feature.name for feature in catalogue], "use_protected": attributes}
    for key, names in known.items():
        for name in getattr(settings, key):
            if name not in names:
                detail = f"there is no {name!r}{did_you_mean(name, sorted(names))}"
                yield Violation(pointer("features", key), "unknown_name", detail)
