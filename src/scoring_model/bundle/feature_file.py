"""The file of the features: their settings, fitted state, and compatibility with this package."""

from collections.abc import Mapping
from dataclasses import asdict, fields, replace
from typing import Any, Final

from scoring_model.bundle.errors import FeaturesUnknown
from scoring_model.bundle.manifest import Manifest
from scoring_model.features import (
    FeatureMatrix,
    FeatureSettings,
    FittedState,
    KeySettings,
    LinkSettings,
    SignalSettings,
    Trend,
    feature_versions,
    fingerprint,
)
from scoring_model.history import Amount
from scoring_model.records import FileFormat, LabelSchema, OutcomeSchema, RecordSchema, SignalType

_CATALOGUED: Final = ("name", "inputs", "unit", "sentence", "direction", "categorical", "protected")


def features_json(schema: RecordSchema, matrix: FeatureMatrix) -> dict[str, Any]:
    """Give records and features of a use as a JSON document."""
    settings = matrix.settings
    return {
        "columns": dict(schema.columns),
        **({"clocks": dict(schema.clocks)} if schema.clocks else {}),
        "labels": _without(asdict(schema.labels), ignored=()),
        **({} if schema.outcomes == OutcomeSchema() else {"outcomes": asdict(schema.outcomes)}),
        **({} if schema.step_ups == "not_observed" else {"step_ups": schema.step_ups}),
        **({} if schema.format == FileFormat() else {"format": asdict(schema.format)}),
        **({} if schema.names is None else {"names": schema.names}),
        "signals": {
            # The title is in the sentences of the reasons.
            name: _without(asdict(replace(signal, title=None)), country=None, title=None)
            for name, signal in settings.signals.items()
        },
        "links": {
            "keys": dict(settings.links.keys),
            "windows": settings.links.windows,
            "cap": settings.links.cap,
            **_further(settings.links),
        },
        "families": settings.families,
        "use_protected": settings.use_protected,
        "exclude": settings.exclude,
        **({} if settings.time_zone is None else {"time_zone": settings.time_zone}),
        "state": matrix.state.to_json(),
        "versions": feature_versions(matrix),
        # Of these, only the names of the columns are used; the rest is for people.
        "catalogue": [{name: getattr(feature, name) for name in _CATALOGUED} for feature in matrix.features],
    }


def _without(plain: dict[str, Any], **defaults: object) -> dict[str, Any]:
    """Leave out the settings that have these values."""
    return {name: value for name, value in plain.items() if name not in defaults or value != defaults[name]}


def read_schema(plain: Mapping[str, Any]) -> RecordSchema:
    """Read what records hold."""
    labels = plain["labels"]
    return RecordSchema(
        columns=plain["columns"],
        signals={name: SignalType(signal["type"]) for name, signal in plain["signals"].items()},
        labels=LabelSchema(
            fraud=tuple(labels["fraud"]),
            genuine=tuple(labels["genuine"]),
            ignored=tuple(labels.get("ignored", ())),
            delay=labels["delay"],
        ),
        outcomes=OutcomeSchema(**_with_tuples(plain.get("outcomes", {}))),
        step_ups=plain.get("step_ups", "not_observed"),
        format=FileFormat(**_with_tuples(plain.get("format", {}))),
        names=plain.get("names"),
        clocks=plain.get("clocks", {}),
    )


def _with_tuples(plain: Mapping[str, Any]) -> dict[str, Any]:
    return {name: tuple(value) if isinstance(value, list) else value for name, value in plain.items()}


def read_matrix(plain: Mapping[str, Any]) -> FeatureMatrix:
    """Read the features as computed by this package; see `check_computed`."""
    links = plain["links"]
    settings = FeatureSettings(
        signals={
            name: SignalSettings(
                type=SignalType(signal["type"]),
                trend=Trend(signal["trend"]),
                protected=signal["protected"],
                differs_from=signal["differs_from"],
                country=signal.get("country"),
            )
            for name, signal in plain["signals"].items()
        },
        links=LinkSettings(
            keys=_with_tuples(links["keys"]),
            windows=tuple(links["windows"]),
            cap=links["cap"],
            **_read_further(links),
        ),
        families=tuple(plain["families"]),
        use_protected=tuple(plain["use_protected"]),
        exclude=tuple(plain["exclude"]),
        time_zone=plain.get("time_zone"),
    )
    return FeatureMatrix(settings, FittedState.from_json(plain["state"]))


def _further(links: LinkSettings) -> dict[str, Any]:
    """Return the non-default settings of links."""
    default = LinkSettings()
    names = [f.name for f in fields(links) if f.name not in ("keys", "windows", "cap")]
    changed = {name: getattr(links, name) for name in names if getattr(links, name) != getattr(default, name)}
    if not any(spec.delayed for spec in links.specs.values()):
        changed.pop("delay", None)
    for name, value in changed.items():
        if name == "amount":
            changed[name] = asdict(value)
        elif name == "amounts":
            changed[name] = [asdict(amount) for amount in value]
        elif name == "by_key":
            changed[name] = {
                key: {part: one for part, one in asdict(own).items() if one is not None}
                for key, own in value.items()
            }
    return changed


def _read_further(plain: Mapping[str, Any]) -> dict[str, Any]:
    names = ("delay", "above", "delayed_windows", "counts", "statistics")
    found = _with_tuples({name: plain[name] for name in names if name in plain})
    if "amount" in plain:
        found["amount"] = Amount(**plain["amount"])
    if "amounts" in plain:
        found["amounts"] = tuple(Amount(**amount) for amount in plain["amounts"])
    if "by_key" in plain:
        found["by_key"] = {key: KeySettings(**_with_tuples(own)) for key, own in plain["by_key"].items()}
    return found


def column_names(plain: Mapping[str, Any]) -> list[str]:
    """Return the features of the model, in the order of columns."""
    return [str(entry["name"]) for entry in plain["catalogue"]]


def check_computed(plain: Mapping[str, Any], matrix: FeatureMatrix, manifest: Manifest) -> None:
    """Check that this package computes the features that a model was trained on.

    Raises
    ------
    FeaturesUnknown
        When columns or values differ, naming both sets of versions and what to do.
    """
    try:
        names = list(matrix.names)
    except ValueError:  # it excludes features that no longer exist
        names = []
    found = fingerprint(matrix) if names == column_names(plain) else "columns differ"
    if found == manifest.feature_fingerprint:
        return
    theirs = _listed(plain["versions"], manifest.feature_fingerprint)
    raise FeaturesUnknown(
        f"this version of scoring-model does not compute the features of the bundle: it has "
        f"{_listed(feature_versions(matrix), found)}, the bundle of protocol {manifest.protocol} has {theirs}. Its "
        "verdicts can still be replayed; to score new records, train a model with this version"
    )


def _listed(versions: Mapping[str, int], found: str) -> str:
    return f"{', '.join(f'{name} {version}' for name, version in sorted(versions.items()))} (fingerprint {found[:14]})"
