"""Renders the catalogue of one use as a Markdown page."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Final

from scoring_model.escaping import code_span, for_markdown
from scoring_model.features.catalogue import Feature
from scoring_model.features.links import link_features
from scoring_model.features.matrix import FeatureMatrix

_DIRECTIONS: Final[Mapping[int, str]] = {-1: "lowers", 0: "either", 1: "raises"}
_COLUMNS: Final = ("Feature", "Meaning", "Reads", "Unit", "Larger", "Reason")

_INTRODUCTION: Final = """\
# Features

Which features there are follows from the configuration: its signals, link keys and windows. Missing is NaN everywhere.

*Reads* names the fields of a record; `eventDay` and `eventHour` (UTC) are derived from `eventTime`. *Larger* says what
a larger value does to the risk: the model is held to `raises` and `lowers`, and free where it says `either`. A unit
`code` that is marked `*` is a category without order. *Reason* is the factor that a feature belongs to: contributions
are summed by factor, and each factor says the sentence that the record bears out (see the reason codes below)."""

_READ_SIGNALS: Final = """\
## Signals that are read

This use has no signal of the types `email`, `phone` and `ip`. With signals of these names the features are the
following; with a signal `mobile` of type `phone` their names begin with `phone_mobile_`."""


def reference(matrix: FeatureMatrix, sentences: Mapping[str, str]) -> str:
    """Describe every feature of a use.

    Parameters
    ----------
    matrix : FeatureMatrix
        Its fitted state is ignored.
    sentences : mapping of str to str
        Sentences of the reasons of the use, by code.

    Returns
    -------
    str
        Markdown: a table for each family and link key, the features that are off, and the reason codes. Equal
        settings give equal text.
    """
    used = {feature.name for feature in matrix.features}
    sections = [_INTRODUCTION, _counts(matrix)]
    for title, features in _chapters(matrix):
        kept = [feature for feature in features if feature.name in used]
        if kept:
            sections.append(f"## {for_markdown(title)}\n\n{_features_table(kept)}")
    off = [feature for feature in matrix.catalogue if feature.name not in used]
    if off:
        sections.append(f"## Off\n\n{_off_table(off)}")
    sections.append(f"## Reason codes\n\n{_reasons_table(sentences)}")
    return "\n\n".join(sections) + "\n"


def read_signals(matrix: FeatureMatrix, sentences: Mapping[str, str]) -> str:
    """Describe the features and reasons of signals that are read: a further chapter of the page.

    Parameters
    ----------
    matrix : FeatureMatrix
        Of a use with signals ``email``, ``phone`` and ``ip`` of these types, and of these alone.
    sentences : mapping of str to str
        Sentences of the reasons of that use, by code.
    """
    chapters = [
        f"### {title}\n\n{_features_table(features)}" for title, features in _chapters(matrix) if features
    ]
    return "\n\n".join([_READ_SIGNALS, *chapters, _reasons_table(sentences)]) + "\n"


def _counts(matrix: FeatureMatrix) -> str:
    families = ", ".join(f"{family.name} {family.version}" for family in matrix.families)
    return (
        f"{len(matrix.features)} features are in use of {len(matrix.catalogue)}. "
        f"Versions of the families of values: {families}."
    )


def _chapters(matrix: FeatureMatrix) -> Iterable[tuple[str, Sequence[Feature]]]:
    """Split the catalogue, in order, into families of values and link keys."""
    for family in matrix.families:
        yield family.name.capitalize(), [feature for group in family.groups for feature in group.features]
    for key in matrix.settings.links.link_keys:
        every = matrix.settings.links
        own = {name: settings for name, settings in every.by_key.items() if name == key.name}
        of_key = replace(every, keys={key.name: key.parts}, by_key=own)
        yield f"Links by {key.name}", link_features(replace(matrix.settings, links=of_key))


def _features_table(features: Iterable[Feature]) -> str:
    return _table(
        _COLUMNS,
        (
            (
                code_span(feature.name),
                for_markdown(feature.sentence),
                _names(feature.inputs),
                feature.unit + ("*" if feature.categorical else ""),
                _DIRECTIONS[feature.direction],
                code_span(feature.reason),
            )
            for feature in features
        ),
    )


def _off_table(features: Iterable[Feature]) -> str:
    return _table(
        ("Feature", "Meaning", "Why"),
        (
            (
                code_span(feature.name),
                for_markdown(feature.sentence),
                f"reads the protected attribute {code_span(feature.protected)}"
                if feature.protected
                else "excluded",
            )
            for feature in features
        ),
    )


def _reasons_table(reasons: Mapping[str, str]) -> str:
    return _table(
        ("Code", "Sentence"),
        ((code_span(code), for_markdown(sentence)) for code, sentence in reasons.items()),
    )


def _names(inputs: Iterable[str]) -> str:
    return ", ".join(map(code_span, inputs))


def _table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [heads, ["---"] * len(heads), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)
