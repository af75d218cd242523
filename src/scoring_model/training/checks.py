"""Checks that a training makes beside the leakage checks."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Final

import numpy as np

from scoring_model.arrays import FloatArray
from scoring_model.configuration import Configuration, Tuned
from scoring_model.evaluation.checks import check_control
from scoring_model.evaluation.late_frauds import KnownFrauds, check_late_frauds
from scoring_model.evaluation.stopped import control_days
from scoring_model.evaluation.telling_columns import check_columns
from scoring_model.features.blind_windows import check_windows
from scoring_model.findings import Code, Finding, State, checked, not_applicable
from scoring_model.training.leakage import TrainingStopped
from scoring_model.training.preparation import Prepared
from scoring_model.training.space import open_ends
from scoring_model.training.split import NO_TEST_PART, Split

_NAMED: Final = 20
_MOST: Final = 0.5
_FEWEST: Final = 20  # values of a part that span a range


def check_prepared(prepared: Prepared, configuration: Configuration) -> Iterator[Finding]:
    """Check windows, features, ranges, raw columns, the evaluated part and the delays of labels, before the search."""
    yield check_windows(
        prepared.table, configuration.feature_settings, configured_delay=configuration.records.labels.delay
    )
    yield check_features(
        prepared.useless, records=len(prepared.split.train), dropped=configuration.features.drop_useless
    )
    yield check_categories(prepared)
    yield check_ranges(prepared)
    targets = np.full(len(prepared.table), -1, dtype=np.int8)
    targets[prepared.split.train] = prepared.split.train_targets
    settings, weight = configuration.feature_settings, prepared.genuine_weight
    yield check_columns(prepared.table, targets, settings, genuine_weight=weight)
    yield check_evaluated_part(prepared.split)
    bounds = prepared.split.boundaries
    yield check_control(
        prepared.split.control,
        days=control_days(prepared.table, since=bounds.validation_from, until=bounds.validation_to),
        records=len(prepared.split.validation),
    )
    yield check_late_frauds(
        KnownFrauds.of(prepared.table),
        as_of=prepared.split.boundaries.as_of,
        maturity=configuration.training.split.label_maturity,
        records=len(prepared.table),
    )


def check_features(useless: Mapping[str, str], *, records: int, dropped: bool) -> Finding:
    """Report the features that were left out because they teach nothing, with the reason of each.

    Parameters
    ----------
    useless : mapping of str to str
        Reason by feature.
    records : int
        Training records.
    dropped : bool
        Whether the configuration lets a training look for them.
    """
    code = Code.USELESS_FEATURES
    if not dropped:
        return not_applicable(
            code, "no feature was compared, since features.drop_useless is off", records=records
        )
    if not useless:
        sentence = f"each feature varies in {records:,} training records, and none is a copy of another"
        return checked(code, sentence, records=records)
    listed = ", ".join(f"{name} ({reason})" for name, reason in list(useless.items())[:_NAMED])
    more = f" and {len(useless) - _NAMED:,} more" if len(useless) > _NAMED else ""
    return checked(
        code,
        f"{len(useless)} features can teach nothing and were left out: {listed}{more}",
        records=records,
        names=tuple(useless),
    )


def check_ranges(prepared: Prepared) -> Finding:
    """Find numbers that lie outside their training range for most of the validation records that have them."""
    code, validation = Code.OUTSIDE_RANGE, prepared.split.validation
    categorical = set(prepared.feature_options["categorical"])
    shares = {
        name: share
        for place, name in enumerate(prepared.matrix.names)
        if place not in categorical
        and (share := _outside(prepared.rows[prepared.split.train, place], prepared.rows[validation, place]))
        > _MOST
    }
    names = tuple(sorted(shares, key=lambda name: -shares[name]))
    listed = ", ".join(f"{name} {shares[name]:.0%}" for name in names[:_NAMED])
    return checked(
        code,
        f"{len(names)} numbers lie outside their training range for most of the validation records that have them"
        + (f": {listed}" if names else ""),
        records=len(validation),
        names=names,
        figures={name: shares[name] for name in names},
    )


def _outside(train: FloatArray, validation: FloatArray) -> float:
    """Return the share of the present validation values that are beyond all of the train part.

    0 where either part has few values: a handful spans no range, so that others lie beyond it by chance.
    """
    train, validation = train[~np.isnan(train)], validation[~np.isnan(validation)]
    if min(len(train), len(validation)) < _FEWEST:
        return 0.0
    return float(((validation < train.min()) | (validation > train.max())).mean())


class OneCode(TrainingStopped):
    """The values of a category share one code; nothing was trained."""


def check_categories(prepared: Prepared) -> Finding:
    """Find categories with several values in the train part, none of which has a code of its own."""
    matrix, train, code = prepared.matrix, prepared.split.train, Code.ONE_CODE
    used = {*matrix.names, *prepared.useless}
    fields = {
        feature.name: feature.inputs[0]
        for feature in matrix.catalogue
        if feature.name in used and feature.learnt and feature.categorical
    }
    if not fields:
        return not_applicable(code, "no feature is a category of a vocabulary", records=len(train))
    found = tuple(
        name
        for name, field in fields.items()
        if not matrix.state.vocabulary(field).values
        and np.unique(codes := prepared.table.column(field).codes[train]).size > 1 + (codes < 0).any()
    )
    return checked(
        code,
        f"of {len(fields)} categories, {len(found)} have several values of which none has five persons"
        + (f": {', '.join(found[:_NAMED])}" if found else ""),
        records=len(train),
        names=found,
    )


def refuse_one_code(findings: Iterable[Finding]) -> None:
    """Raise if a category has one code.

    Raises
    ------
    OneCode
        With all findings.
    """
    every = tuple(findings)
    for finding in every:
        if finding.code is Code.ONE_CODE and finding.state is State.FOUND:
            text = f"{finding.code}: {finding.sentence}. {finding.check.action} ({finding.page})"
            raise OneCode(text, every)


def check_evaluated_part(split: Split) -> Finding:
    """Report an evaluation on the validation part, on which the thresholds were chosen."""
    part = split.evaluated
    is_test = part.name == "test"
    return checked(
        Code.TRAINING_PERIOD,
        f"all {len(part.rows):,} evaluated records are of the test part" if is_test else NO_TEST_PART,
        count=0 if is_test else len(part.rows),
        records=len(part.rows),
    )


def check_parameters(tuned: Tuned, *, cut_short_at: int | None = None) -> Finding:
    """Find parameters at an end of the search space beyond which other values exist.

    Parameters that were given are checked like those that a search found.

    Parameters
    ----------
    cut_short_at : int or None
        The limit of the search, if its trials ended there before the number of trees was known to suffice.
    """
    ends = open_ends(tuned.params)
    if not ends:
        reason = "none of the parameters is one that a search varies"
        return not_applicable(Code.SEARCH_EDGE, reason)
    found = {name: end for name, end in ends.items() if end is not None}
    listed = ", ".join(f"{name} {tuned.params[name]:.4g} ({end})" for name, end in found.items())
    sentence = (
        f"of {len(ends)} parameters that a search varies, {len(found)} lie at or beyond an end of their range"
        + (f": {listed}" if found else "")
    )
    names = tuple(found)
    if cut_short_at is not None:
        sentence += f"; trials were still improving near {cut_short_at} trees (training.tuning.max_rounds)"
        names += ("rounds",)
    return checked(
        Code.SEARCH_EDGE,
        sentence,
        names=names,
    )
