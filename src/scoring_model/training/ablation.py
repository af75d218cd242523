"""The recall that is lost without each family of features: the model is fitted again without it."""

from typing import Final

import numpy as np

from scoring_model.arrays import BoolArray, FloatArray
from scoring_model.configuration import Tuned
from scoring_model.estimates import NamedEstimates
from scoring_model.evaluation.draws import Basis, Draws
from scoring_model.evaluation.figures import drawn_rankings
from scoring_model.evaluation.importance import family_names
from scoring_model.evaluation.metrics import Ranking
from scoring_model.evaluation.uncertainty import block_estimate
from scoring_model.training.fitting import FeatureOptions, fit
from scoring_model.training.preparation import Prepared

FALSE_POSITIVE_RATE: Final = 0.01
"""False positive rate at which recalls are compared."""

GENUINE_SHARE: Final = 0.1
MIN_GENUINE: Final = 20_000
"""A tenth of the genuine training records fits a model, but at least 20,000: it loses no recall and takes less time."""


def measure_recall_lost(prepared: Prepared, tuned: Tuned, *, seed: int, threads: int) -> NamedEstimates:
    """Compare the recall of a model of all features with that of models without one family, on the evaluated part.

    All models are fitted with the same parameters and seed, on all frauds of the training period and a draw of its
    genuine records, so that their recall may differ a little from that of the bundle.

    Returns
    -------
    mapping of str to Estimate
        Recall of all features minus recall without the family, at a false positive rate of 1 %, with an interval from
        the same draws of days and rings. Empty if there is only one family, or the evaluated part lacks a class.
    """
    families = family_names(prepared.matrix)
    kinds = sorted(set(families.values()))
    part = prepared.split.evaluated
    targets = part.targets
    if len(kinds) < 2 or len(np.unique(targets)) < 2:
        return {}
    drawn_rows = _draw_training_rows(prepared, seed)
    rows, row_targets = (
        prepared.rows[prepared.split.train[drawn_rows]],
        prepared.split.train_targets[drawn_rows],
    )
    times, frauds = prepared.table.event_times[part.rows], targets == 1
    draws = Draws.of(times, rings=prepared.rings(part), frauds=frauds)
    basis, records = Basis(draws.rings, draws.rings), int(np.count_nonzero(frauds))
    of_feature = np.array([families[name] for name in prepared.matrix.names])

    def recalls(kept: BoolArray) -> tuple[float, FloatArray]:
        booster = fit(
            rows[:, kept],
            row_targets,
            params=tuned.params,
            rounds=tuned.rounds,
            seed=seed,
            threads=threads,
            **_options(prepared, kept),
        )
        ranking = Ranking.of(booster.predict(prepared.rows[part.rows][:, kept], raw_score=True), targets)
        limits = np.array([FALSE_POSITIVE_RATE])
        drawn = [counts.at_fpr(limits)[0][:, 0] for counts in drawn_rankings(ranking, draws)]
        return float(ranking.counts.at_fpr(limits)[0][0]), np.concatenate([np.empty(0), *drawn])

    recall, drawn = recalls(np.ones(len(of_feature), dtype=bool))
    found = {}
    for kind in kinds:
        without, drawn_without = recalls(of_feature != kind)
        lost = recall - without
        found[kind] = block_estimate(lost, drawn - drawn_without, records, basis, scale="difference")
    return found


def _draw_training_rows(prepared: Prepared, seed: int) -> BoolArray:
    """Draw all frauds and a share of the genuine records of the training part."""
    targets = prepared.split.train_targets
    genuine = int(np.count_nonzero(targets == 0))
    share = max(GENUINE_SHARE, MIN_GENUINE / max(genuine, 1))
    drawn: BoolArray = (targets == 1) | (np.random.default_rng(seed).random(len(targets)) < share)
    return drawn


def _options(prepared: Prepared, kept: BoolArray) -> FeatureOptions:
    """Describe the features that are left."""
    options = prepared.feature_options
    places = np.flatnonzero(kept)
    return FeatureOptions(
        feature_names=tuple(options["feature_names"][place] for place in places),
        categorical=tuple(
            place for place, before in enumerate(places) if before in set(options["categorical"])
        ),
        monotone=tuple(options["monotone"][place] for place in places),
    )
