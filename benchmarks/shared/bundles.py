"""Models of the benchmarks, trained on invented records; the bundle that services serve.

That bundle has 300 trees of up to 31 leaves on the default catalogue and one more link key, the network of a request. A
fifth of all records share one network: a hot key.
"""

from collections.abc import Collection
from dataclasses import replace
from pathlib import Path
from tempfile import gettempdir
from typing import Final

import lightgbm as lgb
import numpy as np
import pyarrow as pa

from identity_use import with_thresholds
from scoring_model import synthetic
from scoring_model.bundle import Bundle
from scoring_model.configuration import Configuration, PolicySettings, Tuned, load_configuration
from scoring_model.features import SignalSettings
from scoring_model.records import RecordTable, SignalType
from scoring_model.records.reading import read_records
from scoring_model.training.averaging import fix_leaves
from scoring_model.training.fitting import Params, fit
from scoring_model.training.preparation import Prepared, prepare
from scoring_model.training.run import run_training
from scoring_model.training.space import STARTING_POINTS

CONFIGURATIONS: Final = Path(__file__).parents[2] / "configs"
IDENTITY: Final = CONFIGURATIONS / "identity.yaml"
AS_THE_PROJECT_TRAINS: Final[Params] = {**STARTING_POINTS[2], "bagging_freq": 1, "num_leaves": 31}
NETWORK: Final = "network"
HOT_NETWORK: Final = "192.0.2.0/24"
HOT_SHARE: Final = 0.2
STEPPED_UP: Final = 0.06
_TRAINED_ON: Final = 100_000


def invented(records: int, *, seed: int, network: bool = True) -> pa.Table:
    """Invent records, as from `synthetic.generate`, with the network of each as ``signals.network`` if asked for."""
    table = pa.Table.from_batches(synthetic.generate(records=records, seed=seed))
    if not network:
        return table
    rng = np.random.default_rng(seed)
    hot = rng.random(len(table)) < HOT_SHARE
    own = rng.integers(0, 2**31, len(table))
    networks = [
        HOT_NETWORK if is_hot else f"net-{number:08x}" for is_hot, number in zip(hot, own, strict=True)
    ]
    return table.append_column(f"signals.{NETWORK}", pa.array(networks))


def cached(name: str) -> Path:
    """Path of a file that benchmarks make once, in the directory of temporary files."""
    folder = Path(gettempdir()) / "scoring-model-benchmark"
    folder.mkdir(exist_ok=True)
    return folder / name


def invented_file(records: int, *, folder: Path | None = None) -> Path:
    """File of invented records, created if missing."""
    name = f"invented-{records}.parquet"
    path = cached(name) if folder is None else folder / name
    if not path.exists():
        synthetic.write(path, records=records, seed=7)
    return path


def train(configuration: Configuration, records: pa.Table, *, rounds: int = 300, leaves: int = 31) -> Bundle:
    """Train with known parameters, and a policy that any such model can keep."""
    tuned = Tuned(params={**AS_THE_PROJECT_TRAINS, "num_leaves": leaves}, rounds=rounds)
    changed = replace(
        configuration,
        training=replace(configuration.training, tuned=tuned),
        policy=PolicySettings(max_false_reject=0.1, max_step_up=0.5),
    )
    table = read_records(records, configuration.schema, labelled=True).table
    return run_training(table, changed, progress=False).bundle


def served_bundle() -> Bundle:
    """Train the bundle that services serve again, so that it matches this code."""
    print(f"training on {_TRAINED_ON:,} invented records", flush=True)
    plain = load_configuration(IDENTITY)
    keys = {**plain.links.keys, NETWORK: (f"signals.{NETWORK}",)}
    configuration = replace(
        plain,
        signals={**plain.signals, NETWORK: SignalSettings(type=SignalType.IDENTIFIER)},
        links=replace(plain.links, keys=keys),
    )
    return train(configuration, invented(_TRAINED_ON, seed=1))


def stepping_up(bundle: Bundle, scores: Collection[int]) -> Bundle:
    """The bundle under a policy that steps up about 6 % of these scores."""
    for score in range(1, 1001):
        if sum(found >= score for found in scores) <= STEPPED_UP * len(scores):
            fail_from = max(score, bundle.contents.rules.policy.fail_from)
            return with_thresholds(bundle, step_up_from=score, fail_from=fail_from)
    raise SystemExit("too many score 1000: no policy steps up 6 %")


def default_booster(
    records: int, *, rounds: int = 300, params: Params = AS_THE_PROJECT_TRAINS
) -> tuple[lgb.Booster, Prepared, RecordTable, pa.Table]:
    """Train a model of the default configuration, with fixed leaves, on invented records.

    Returns it with its feature rows and their names, its records, and these as they were invented.
    """
    configuration, source = load_configuration(IDENTITY), invented(records, seed=1, network=False)
    table = read_records(source, configuration.schema, labelled=True).table
    prepared = prepare(table, configuration)
    booster = fit(
        prepared.rows[prepared.split.train],
        prepared.split.train_targets,
        params=params,
        rounds=rounds,
        seed=1,
        threads=2,
        **prepared.feature_options,
    )
    return fix_leaves(booster), prepared, table, source
