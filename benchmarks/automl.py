"""Our trainings beside Optuna 5 with LightGBM, FLAML, AutoGluon and CatBoost: the same records, seconds and test.

    scoring-model synth invented.parquet --records 60000
    python benchmarks/automl.py --signups signup_fraud.parquet --payments payments.parquet --invented invented.parquet \
        --sparkov sparkov.parquet

The last fifth of each table by time is the test. A tool sees the records before it, with the labels known then; the
project as `init` proposes or ships its configuration, without a test part (`test: 0`), with `train --budget`. Peers
search as many seconds with one thread, on the raw columns (times as hour, weekday and distance from the event; text as
category and as count of its value) or on the features of our bundle, from the end of our burn-in. The last fifth of
their records by time stops and selects; what they selected is refitted on all. They give no record to a gap or to
thresholds. Protected attributes are given to nobody. Intervals at 95 % draw whole test days, the same for all tools.
The seconds are those of the clock: a busy machine gives less CPU, which each row names. Each peer has an environment
of its own, which is created once; AutoGluon runs without neural networks.

--signups is the e-commerce table of data/README.md; --payments is made by the public functions of the Fraud Detection
Handbook (docs/payments.md) for 1,000 customers, 2,000 terminals and 150 days, since its own size takes hours here.
--sparkov is made by namebrandon/Sparkov_Data_Generation in the columns of the Kaggle table "Credit Card Transactions
Fraud Detection": 250 customers, July 2019 to June 2020, seed 42, 50 merchants in each of 14 categories. Its towns and
profiles are in no package, so these were replaced: 111 of its towns that its tests and its forks show, with equal
chances; ages by the percentiles in its tests; profiles as in the fork of leighajarett, with the weights of categories
and hours of its tests where these show them (8 of 12), else of the nearest one or of the fork. Frauds have the hours
of their customer's profile, and two profiles of frauds are those of the nearest one.

Results stay in --work, and what stands there is not made again.
"""

import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
import pandas as pd
import yaml
from numpy.typing import NDArray
from shared.bundles import IDENTITY
from shared.processes import run_peer
from shared.script import print_head, print_row, run

from scoring_model.arrays import FloatArray, IntArray
from scoring_model.cli import main as program
from scoring_model.configuration import load_configuration
from scoring_model.evaluation.metrics import Ranking
from scoring_model.records import RecordTable, rfc3339
from scoring_model.records.observation import targets_at
from scoring_model.records.reading import read_records
from scoring_model.records.times import DAY
from scoring_model.scorer import Scorer
from scoring_model.scorer.feature_frames import feature_table
from scoring_model.scorer.frames import score_table
from scoring_model.training.boundaries import place_boundaries

PEER: Final = """
import json, os, sys, tempfile, time
import numpy as np, pandas as pd

tool, source, out, seconds = sys.argv[1], sys.argv[2], sys.argv[3], float(sys.argv[4])
frame = pd.read_parquet(source)
X, y = frame.drop(columns=["_target", "_test"]), frame["_target"].to_numpy()
past, later = np.flatnonzero(frame["_test"] == 0), np.flatnonzero(frame["_test"] == 1)
words = [name for name in X if isinstance(X[name].dtype, pd.CategoricalDtype)]
X, T, y = X.iloc[past].reset_index(drop=True), X.iloc[later].reset_index(drop=True), y[past]
cut = int(0.8 * len(X))

def optuna():
    import lightgbm as lgb, optuna
    from sklearn.metrics import average_precision_score
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    fixed = dict(objective="binary", metric="average_precision", num_threads=1, verbosity=-1, bagging_freq=1, seed=7)
    def params(trial):
        return fixed | dict(
            learning_rate=trial.suggest_float("learning_rate", 0.01, 0.3, log=True),
            num_leaves=trial.suggest_int("num_leaves", 4, 256, log=True),
            min_data_in_leaf=trial.suggest_int("min_data_in_leaf", 5, 300, log=True),
            feature_fraction=trial.suggest_float("feature_fraction", 0.3, 1.0),
            bagging_fraction=trial.suggest_float("bagging_fraction", 0.4, 1.0),
            lambda_l1=trial.suggest_float("lambda_l1", 1e-8, 10.0, log=True),
            lambda_l2=trial.suggest_float("lambda_l2", 1e-8, 10.0, log=True))
    train = lgb.Dataset(X[:cut], y[:cut], free_raw_data=False, params={"feature_pre_filter": False})
    valid = lgb.Dataset(X[cut:], y[cut:], reference=train, free_raw_data=False)
    def value(trial):
        stop = [lgb.early_stopping(50, verbose=False)]
        booster = lgb.train(params(trial), train, 2000, valid_sets=[valid], callbacks=stop)
        trial.set_user_attr("rounds", booster.best_iteration)
        return average_precision_score(y[cut:], booster.predict(X[cut:]))
    study = optuna.create_study(direction="maximize", sampler=optuna.samplers.TPESampler(seed=7))
    study.optimize(value, timeout=seconds)
    best = study.best_trial
    booster = lgb.train(params(optuna.trial.FixedTrial(best.params)), lgb.Dataset(X, y), best.user_attrs["rounds"])
    return booster.predict(T), f"{len(study.trials)} trials"

def flaml():
    from flaml import AutoML
    found = AutoML()
    found.fit(X, y, task="classification", metric="ap", time_budget=seconds, split_type="time", n_jobs=1, seed=7,
              verbose=0)
    return found.predict_proba(T)[:, 1], found.best_estimator

def autogluon():
    from autogluon.tabular import TabularPredictor
    with tempfile.TemporaryDirectory() as folder:
        found = TabularPredictor("_y", eval_metric="average_precision", path=folder, verbosity=0)
        found.fit(X[:cut].assign(_y=y[:cut]), tuning_data=X[cut:].assign(_y=y[cut:]), presets="medium_quality",
                  time_limit=seconds, num_cpus=1, num_gpus=0)
        best = found.model_best
        found.refit_full(best, num_cpus=1)
        return found.predict_proba(T)[1].to_numpy(), best

def catboost():
    from catboost import CatBoostClassifier, Pool
    def pool(frame, targets=None):
        texts = {name: frame[name].astype(object).where(frame[name].notna(), "").astype(str) for name in words}
        frame = frame.assign(**texts)
        return Pool(frame, targets, cat_features=words)
    class Clock:
        def __init__(self):
            self.end = time.monotonic() + seconds
        def after_iteration(self, info):
            return time.monotonic() < self.end
    fixed = dict(thread_count=1, verbose=False, random_seed=7, has_time=True, allow_writing_files=False)
    found = CatBoostClassifier(iterations=2000, od_type="Iter", od_wait=50, **fixed)
    found.fit(pool(X[:cut], y[:cut]), eval_set=pool(X[cut:], y[cut:]), callbacks=[Clock()])
    rounds = found.get_best_iteration() + 1
    found = CatBoostClassifier(iterations=rounds, **fixed).fit(pool(X, y))
    return found.predict_proba(pool(T))[:, 1], f"{rounds} trees"

scores, note = globals()[tool]()
np.save(out, np.asarray(scores, dtype=float))
print()
print(json.dumps(f"{note}, {time.process_time():.0f} s of CPU"))
"""
PEERS: Final = {
    "optuna": ["optuna==5.0.0", "lightgbm==4.7.0", "pandas==2.3.3", "pyarrow==24.0.0", "scikit-learn==1.7.2"],
    "flaml": ["flaml[automl]==2.7.0", "pandas==2.3.3", "pyarrow==24.0.0"],
    "autogluon": ["autogluon.tabular[lightgbm,catboost,xgboost]==1.6.3", "pyarrow==24.0.0"],
    "catboost": ["catboost==1.2.10", "pandas==2.3.3", "pyarrow==24.0.0"],
}
OURS: Final = "scoring-model"
RAW: Final = "raw columns"
FEATURES: Final = "our features"
DRAWS: Final = 1_000
MOST_WORDS: Final = 5_000
"""Most distinct values of a text that peers get as a category; of every text they get the count too."""


@dataclass(frozen=True, kw_only=True)
class Table:
    """A table: names of its record and time, what no peer gets, what it would take for numbers; how we configure it."""

    record: str
    time: str
    left_out: tuple[str, ...]
    ids: tuple[str, ...] = ()
    shipped: Path | None = None
    init: tuple[str, ...] = ()


TABLES: Final = {
    "signups": Table(record="user_id", time="purchase_time", left_out=("user_id", "class", "sex", "age")),
    "payments": Table(
        record="TRANSACTION_ID",
        time="TX_DATETIME",
        left_out=("TRANSACTION_ID", "TX_FRAUD", "TX_FRAUD_SCENARIO", "TX_TIME_SECONDS", "TX_TIME_DAYS"),
        ids=("CUSTOMER_ID", "TERMINAL_ID"),
        init=("--delay", "7d"),
    ),
    "invented": Table(
        record="recordId",
        time="eventTime",
        left_out=("recordId", "label", "labelKnownAt", "signals.sex", "citizenship", "dob"),
        shipped=IDENTITY,
    ),
    "sparkov": Table(
        record="trans_num",
        time="trans_date_trans_time",
        left_out=("trans_num", "is_fraud", "unix_time", "gender", "dob"),
        ids=("cc_num", "zip"),
    ),
}
"""Written before the first run."""


@dataclass(frozen=True, slots=True)
class Case:
    """A table as the tools get it: records in the order of time, rows before and in the test, and their classes."""

    name: str
    file: Path
    configuration: Path
    work: Path
    records: RecordTable
    past: IntArray
    later: IntArray
    targets: NDArray[np.int8]

    @property
    def test_from(self) -> int:
        """The first instant of the test."""
        return int(self.records.event_times[self.later[0]])


def run_program(*words: object, may_fail: bool = False) -> None:
    """Run `scoring-model`, whose lines go to standard error."""
    with redirect_stdout(sys.stderr):
        failed = program(list(map(str, words)))
    if failed and not may_fail:
        raise SystemExit(f"{words[0]} failed")


def prepare(name: str, file: Path, work: Path) -> Case:
    """Propose or copy the configuration, read the file with it, and cut the last fifth off."""
    table, path = TABLES[name], work / "configuration.yaml"
    work.mkdir(parents=True, exist_ok=True)
    if table.shipped is None:
        rows = pd.read_parquet(file).sort_values(table.time, kind="stable")
        rows.head(int(0.8 * len(rows))).to_parquet(work / "past.parquet", index=False)
        run_program("init", work / "past.parquet", "--out", path, "--replace", *table.init)
    content = yaml.safe_load((table.shipped or path).read_text(encoding="utf-8"))
    content["training"]["split"]["test"] = 0
    path.write_text(yaml.safe_dump(content), encoding="utf-8")
    configuration = load_configuration(path)
    maturity = configuration.training.split.label_maturity
    records = read_records(file, configuration.schema, labelled=True).table
    records = records.take(np.argsort(records.event_times, kind="stable"))
    known = targets_at(records, records.latest_instant + 1, maturity)
    times = records.event_times
    test_from = times[known >= 0][int(0.8 * (known >= 0).sum())]
    targets = np.where(times < test_from, targets_at(records, test_from, maturity), known)
    past, later = (np.flatnonzero(side & (targets >= 0)) for side in (times < test_from, times >= test_from))
    return Case(name, file, path, work, records, past, later, targets)


def run_ours(case: Case, name: str, *words: object) -> FloatArray:
    """Train as of the test, and score it; without a policy that can be kept the model passes everyone."""
    bundle = case.work / name
    if not Path(f"{bundle}.training").exists():
        options = ["--as-of", rfc3339(case.test_from), "--threads", 1, "--no-track", *words]
        run_program(
            "train", case.file, "--config", case.configuration, "--out", bundle, *options, may_fail=True
        )
    return score_table(load(bundle), case.records, reasons=False).decisions.margins[case.later]


def load(bundle: Path) -> Scorer:
    """Load a bundle, or the model of one whose policy cannot be kept."""
    return Scorer.load(bundle if bundle.exists() else Path(f"{bundle}.training") / "without_policy")


def raw_columns(case: Case) -> pd.DataFrame:
    """The columns of the file as peers get them."""
    table, frame = TABLES[case.name], pd.read_parquet(case.file)
    frame.index = frame[table.record].astype(str)
    frame = frame.loc[list(case.records.record_ids)].reset_index(drop=True)
    times = pd.to_datetime(frame[table.time], utc=True)
    found: dict[str, Any] = {"hour": times.dt.hour, "weekday": times.dt.day_of_week}
    for name in frame.columns.difference([table.time, *table.left_out], sort=False):
        column = frame[name]
        if pd.api.types.is_datetime64_any_dtype(column):
            found[name] = (times - pd.to_datetime(column, utc=True)).dt.total_seconds()
        elif pd.api.types.is_numeric_dtype(column) and name not in table.ids:
            found[name] = column.astype(float)
        else:
            text = column.map(str).where(column.notna())
            counts = text.iloc[case.past].value_counts()
            found[f"{name} count"] = text.map(counts).astype(float)
            if text.nunique() <= MOST_WORDS:
                found[name] = text.where(text.isin(counts.index)).astype("category")
    return pd.DataFrame(found)


def our_columns(case: Case) -> pd.DataFrame:
    """The features of our bundle."""
    scorer = load(case.work / OURS)
    frame = feature_table(scorer, case.records).to_pandas().drop(columns="recordId")
    codes = [one.name for one in scorer.matrix.features if one.categorical]
    texts = {name: frame[name].map("{:.0f}".format, na_action="ignore") for name in codes}
    # Parquet keeps categories of texts alone.
    return pd.DataFrame(frame.assign(**texts).astype(dict.fromkeys(codes, "category")))


def run_peer_on(
    case: Case, frame: pd.DataFrame, kind: str, peer: str, place: Path, seconds: int
) -> tuple[FloatArray, str] | None:
    """Scores of a peer and what it says; None where it could not be installed."""
    source, out = case.work / f"{kind}.parquet", case.work / f"{kind}.{peer}.npy"
    if not out.exists():
        past, times = case.past, case.records.event_times
        if kind == FEATURES:  # the burn-in has no history to make features of
            split = load_configuration(case.configuration).split_over(case.test_from - int(times[0]))
            past = past[times[past] >= place_boundaries(int(times[0]), case.test_from, split).train_from]
        rows = np.concatenate([past, case.later])
        marks = {"_target": case.targets[rows].astype(int), "_test": np.arange(len(rows)) >= len(past)}
        given = frame.iloc[rows].rename(columns=lambda name: re.sub("[ .]", "_", name)).assign(**marks)
        given.to_parquet(source)
        try:
            note = run_peer(place, PEERS[peer], PEER, peer, source, out, seconds)
        except subprocess.CalledProcessError:
            return None
        out.with_suffix(".json").write_text(json.dumps(note), encoding="utf-8")
    return np.load(out), json.loads(out.with_suffix(".json").read_text(encoding="utf-8"))


def draws(case: Case) -> IntArray:
    """How often each test record is in each sample of whole days, of shape (draws, n)."""
    _, days = np.unique(case.records.event_times[case.later] // DAY, return_inverse=True)
    n = int(days.max()) + 1
    return np.random.default_rng(0).multinomial(n, np.full(n, 1 / n), DRAWS)[:, days]


def figures(case: Case, scores: FloatArray, drawn: IntArray) -> FloatArray:
    """Average precision and ROC AUC of the test, and of each sample, of shape (draws + 1, 2)."""
    ranking = Ranking.of(scores, case.targets[case.later])
    every = [ranking, *(ranking.weighted(weights) for weights in drawn)]
    return np.array([[one.average_precision(), one.roc_auc()] for one in every], dtype=float)


def show(labels: Sequence[str], found: FloatArray, ours: FloatArray) -> None:
    """Print a row of the table: figures, and their differences from ours."""
    cells = []
    for place in (0, 1):
        for values in (found[:, place], found[:, place] - ours[:, place]):
            low, high = np.nanquantile(values[1:], (0.025, 0.975))
            cells.append(f"{values[0]:.3f} ({low:.3f} to {high:.3f})")
    print_row(*labels, *cells)


def compare(case: Case, seconds: int, environments: Path) -> None:
    """Print the rows of all tools."""
    started = time.process_time()
    scores = run_ours(case, OURS, "--budget", f"{seconds}s")
    note, drawn = f"{time.process_time() - started:.0f} s of CPU with scoring", draws(case)
    ours = figures(case, scores, drawn)
    show([case.name, "our own way", OURS, note], ours, ours)
    for kind, frame in ((RAW, raw_columns(case)), (FEATURES, our_columns(case))):
        for peer in PEERS:
            made = run_peer_on(case, frame, kind, peer, environments / peer, seconds)
            if made is None:
                print_row(case.name, kind, peer, "not installed", *[""] * 4)
            else:
                show([case.name, kind, peer, made[1]], figures(case, made[0], drawn), ours)


def main(
    *,
    signups: Path | None = None,
    payments: Path | None = None,
    invented: Path | None = None,
    sparkov: Path | None = None,
    seconds: int = 120,
    work: Path = Path("runs/automl"),
    environments: Path = Path("runs/environments"),
) -> None:
    """Print the rows of each Parquet file that is given."""
    os.environ |= {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    measured = "average precision", "minus ours", "ROC AUC", "minus ours"
    print_head("table", "columns", "tool", "used", *measured)
    for name, file in zip(TABLES, (signups, payments, invented, sparkov), strict=True):
        if file is None:
            print_row(name, "no file", *[""] * 6)
        else:
            compare(prepare(name, file, work / name), seconds, environments)


if __name__ == "__main__":
    run(main)
