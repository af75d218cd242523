"""The bundle of the service's benchmarks: 300 trees of up to 31 leaves on the default catalogue and one more link key.

The additional key is the network of a request. A fifth of all records share one network: a hot key.
"""

import dataclasses
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import lightgbm as lgb
import numpy as np
import pyarrow as pa

sys.path.insert(0, str(Path(__file__).parents[1]))

from benchmarks.standard_model import AS_THE_PROJECT_TRAINS

from scoring_model.bundle import Bundle, Golden
from scoring_model.configuration import Configuration, PolicySettings, Tuned, load_configuration
from scoring_model.decision.rules import Policy
from scoring_model.features import SignalSettings
from scoring_model.records import RecordTable, SignalType
from scoring_model.records.reading import read_records
from scoring_model.scorer.session import MarginSession
from scoring_model.synthetic import generate
from scoring_model.training.averaging import fix_leaves
from scoring_model.training.fitting import fit
from scoring_model.training.preparation import prepare
from scoring_model.training.run import run_training

CONFIGURATION: Final = Path(__file__).parents[1] / "configs" / "identity.yaml"
TREES: Final = 300
NETWORK: Final = "network"
HOT_NETWORK: Final = "192.0.2.0/24"
HOT_SHARE: Final = 0.2
STEPPED_UP: Final = 0.06
_TRAINED_ON: Final = 100_000
_SEED: Final = 1


def invented(records: int, *, seed: int) -> pa.Table:
    """Invent records with the network of each.

    Parameters
    ----------
    records : int
    seed : int

    Returns
    -------
    pyarrow.Table
        As from `synthetic.generate`, with a column ``signals.network``.
    """
    table = pa.Table.from_batches(generate(records=records, seed=seed))
    rng = np.random.default_rng(seed)
    hot = rng.random(len(table)) < HOT_SHARE
    own = rng.integers(0, 2**31, len(table))
    networks = [
        HOT_NETWORK if is_hot else f"net-{number:08x}" for is_hot, number in zip(hot, own, strict=True)
    ]
    return table.append_column(f"signals.{NETWORK}", pa.array(networks))


def bodies(table: pa.Table) -> Iterator[dict[str, Any]]:
    """Shape rows like the bodies of requests, without columns that only a file has."""
    for row in table.to_pylist():
        body: dict[str, Any] = {}
        for name, value in row.items():
            if value is not None and not name.startswith(("label", "record", "event")):
                part, _, leaf = name.rpartition(".")
                (body.setdefault(part, {}) if part else body)[leaf] = value
        yield body


def with_step_up_from(bundle: Bundle, score: int) -> Bundle:
    """The same model under another policy.

    Parameters
    ----------
    bundle : Bundle
    score : int
        First score that is stepped up, 1 to 1001; the failing threshold is not below it.
    """
    contents = bundle.contents
    fail_from = max(score, contents.rules.policy.fail_from)
    policy = Policy(step_up_from=score, fail_from=fail_from)
    decided = contents.golden.decisions
    golden = Golden(
        rows=contents.golden.rows,
        decisions=dataclasses.replace(decided, outcomes=policy.outcomes(decided.scores)),
    )
    rules = dataclasses.replace(contents.rules, policy=policy)
    return dataclasses.replace(bundle, contents=dataclasses.replace(contents, rules=rules, golden=golden))


def stepping_up(bundle: Bundle, scores: Sequence[int]) -> Bundle:
    """The bundle under a policy that steps up about 6 % of these scores."""
    for score in range(1, 1001):
        if sum(found >= score for found in scores) <= STEPPED_UP * len(scores):
            return with_step_up_from(bundle, score)
    raise SystemExit("too many score 1000: no policy steps up 6 %")


def served_bundle() -> Bundle:
    """Train the bundle again, so that it matches this code."""
    print(f"training {TREES} trees on {_TRAINED_ON:,} invented records", flush=True)
    configuration = _configuration()
    return run_training(_table(configuration), configuration, progress=False).bundle


def booster_of(bundle: Bundle) -> lgb.Booster:
    """The LightGBM model of `served_bundle`, checked to give the same margins bit for bit."""
    configuration = _configuration()
    prepared = prepare(_table(configuration), configuration)
    tuned = configuration.training.tuned
    if tuned is None:
        raise RuntimeError("the parameters are known")
    booster = fix_leaves(
        fit(
            prepared.rows[prepared.split.train],
            prepared.split.train_targets,
            params=tuned.params,
            rounds=tuned.rounds,
            seed=configuration.training.seed,
            threads=2,
            **prepared.feature_options,
        )
    )
    rows = bundle.contents.golden.rows
    served = MarginSession(bundle.contents.graph).margins(rows)
    if served.tobytes() != np.asarray(booster.predict(rows, raw_score=True)).tobytes():
        raise SystemExit("LightGBM's model differs from that of the bundle: nothing is timed")
    return booster


def _table(configuration: Configuration) -> RecordTable:
    records = invented(_TRAINED_ON, seed=_SEED)
    return read_records(records, configuration.schema, labelled=True).table


def _configuration() -> Configuration:
    plain = load_configuration(CONFIGURATION)
    keys: Mapping[str, tuple[str, ...]] = {**plain.links.keys, NETWORK: (f"signals.{NETWORK}",)}
    return dataclasses.replace(
        plain,
        signals={**plain.signals, NETWORK: SignalSettings(type=SignalType.IDENTIFIER)},
        links=dataclasses.replace(plain.links, keys=keys),
        training=dataclasses.replace(
            plain.training,
            tuned=Tuned(params={**AS_THE_PROJECT_TRAINS, "num_leaves": 31}, rounds=TREES),
        ),
        # The promise does not matter here: the policy is chosen for the share that it steps up.
        policy=PolicySettings(max_false_reject=0.05, max_step_up=0.3),
    )
