"""Our trainings beside Optuna 5 with LightGBM, FLAML, AutoGluon and CatBoost: the same records, seconds and test.

    scoring-model synth invented.parquet --records 60000
    python benchmarks/automl.py --signups signup_fraud.parquet --payments payments.parquet --invented invented.parquet
    python benchmarks/automl.py --splits ... (the same files)

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
Sparkov's generator is no package, so its payments are left out. Results stay in --work,
and what stands there is not made again.

--splits measures instead what records cost that do not train: two boosters of a starting point are fitted as of four
instants, with changed parts of the split, certify the policy without its bound on missed frauds, and rank and stop the
tenth of the records that follows.
"""

import argparse
import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import redirect_stdout
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

import numpy as np
import pandas as pd
import yaml
from numpy.typing import NDArray
from shared.bundles import IDENTITY
from shared.judging import arguments
from shared.processes import run_peer

from scoring_model.arrays import FloatArray, IntArray
from scoring_model.cli import main as program
from scoring_model.configuration import Configuration, SplitSettings, load_configuration
from scoring_model.decision.probability import Platt
from scoring_model.evaluation.metrics import Ranking
from scoring_model.records import RecordTable, rfc3339
from scoring_model.records.observation import targets_at
from scoring_model.records.reading import read_records
from scoring_model.records.times import DAY
from scoring_model.scorer import Scorer
from scoring_model.scorer.feature_frames import feature_table
from scoring_model.scorer.frames import score_table
from scoring_model.training.assembly import fit_rules
from scoring_model.training.fitting import fit
from scoring_model.training.preparation import prepare as prepare_records
from scoring_model.training.space import starting_params
from scoring_model.training.split import place_boundaries

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
}
"""Written before the first run."""

SPLITS: Final[Mapping[str, tuple[float, float, float]]] = {
    "before": (1, 1, 0.75),
    "a tenth of burn-in": (0.1, 1, 0.75),
    "half the gap": (1, 0.5, 0.75),
    "both": (0.1, 0.5, 0.75),
    "both, 80 % train": (0.1, 0.5, 0.8),
    "both, 85 % train: now": (0.1, 0.5, 0.85),
    "both, 90 % train": (0.1, 0.5, 0.9),
    "85 %, half the burn-in": (0.05, 0.5, 0.85),
    "85 %, a quarter of it": (0.025, 0.5, 0.85),
}
"""The longest burn-in as a share of the time, the gap in label maturities, the train part's share of it and validation.

A burn-in of 1 is the configured one, or as long as the longest window.
"""
SINGLE_VALUES: Final = 5
"""The starting point that splits off single values of a category."""
ORIGINS: Final = (0.6, 0.7, 0.8, 0.9)
"""Shares of the records before a test, which is the tenth that follows."""


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


def run(*words: object, may_fail: bool = False) -> None:
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
        run("init", work / "past.parquet", "--out", path, "--replace", *table.init)
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
        run("train", case.file, "--config", case.configuration, "--out", bundle, *options, may_fail=True)
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
    found: dict[str, Any] = {"hour": times.dt.hour, "weekday": times.dt.weekday}
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
    return pd.DataFrame(frame.astype(dict.fromkeys(codes, "category")))


def run_peer_on(
    case: Case, frame: pd.DataFrame, kind: str, peer: str, options: argparse.Namespace
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
        place = options.environments / peer
        try:
            note = run_peer(place, PEERS[peer], PEER, peer, source, out, options.seconds)
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


def row(labels: Sequence[str], found: FloatArray, ours: FloatArray) -> str:
    """A row of the table: figures, and their differences from ours."""
    cells = []
    for place in (0, 1):
        for values in (found[:, place], found[:, place] - ours[:, place]):
            low, high = np.nanquantile(values[1:], (0.025, 0.975))
            cells.append(f"{values[0]:.3f} ({low:.3f} to {high:.3f})")
    return f"| {' | '.join([*labels, *cells])} |"


def compare(case: Case, options: argparse.Namespace) -> None:
    """Print the rows of all tools."""
    budget, started = ("--budget", f"{options.seconds}s"), time.process_time()
    scores = run_ours(case, OURS, *budget)
    note, drawn = f"{time.process_time() - started:.0f} s of CPU with scoring", draws(case)
    ours = figures(case, scores, drawn)
    print(row([case.name, "our own way", OURS, note], ours, ours), flush=True)
    for kind, frame in ((RAW, raw_columns(case)), (FEATURES, our_columns(case))):
        for peer in PEERS:
            made = run_peer_on(case, frame, kind, peer, options)
            if made is None:
                print(f"| {case.name} | {kind} | {peer} | not installed | | | | |", flush=True)
            else:
                labels = [case.name, kind, peer, made[1]]
                print(row(labels, figures(case, made[0], drawn), ours), flush=True)


def split_at(case: Case, origin: float, change: tuple[float, float, float]) -> FloatArray:
    """Fit a starting point after a change: average precision, ROC AUC, stopped frauds, training and validation."""
    configuration, records = load_configuration(case.configuration), case.records
    final = targets_at(records, records.latest_instant + 1, configuration.training.split.label_maturity)
    known = np.flatnonzero(final >= 0)
    test = known[int(origin * len(known)) : int((origin + 0.1) * len(known))]
    parts = changed_split(configuration, records.event_times, int(records.event_times[test[0]]), change)
    policy = replace(configuration.policy, max_missed_fraud=None)  # few frauds are left to certify it
    found = prepare_records(
        records, replace(configuration, training=replace(configuration.training, split=parts), policy=policy)
    )
    train, validation = found.split.train, found.split.validation
    boosters = [
        fit(
            found.rows[train],
            found.split.train_targets,
            params=starting_params(SINGLE_VALUES),
            rounds=150,
            seed=seed,
            threads=1,
            **found.feature_options,
        )
        for seed in (1, 2)
    ]

    def margins(rows: FloatArray) -> FloatArray:
        each = [one.predict(rows, raw_score=True, num_threads=1) for one in boosters]
        return np.asarray(np.mean(each, axis=0), dtype=float)

    rules, _, _ = fit_rules(
        margins(found.rows[validation]),
        found.split.validation_targets,
        stopped=np.empty(0),
        persons=found.genuine_persons,
        rings=found.fraud_rings,
        until=found.split.boundaries.validation_to,
        settings=policy,
        calibration=Platt(slope=1, intercept=0),
    )
    scores = margins(found.matrix.rows(records)[test])
    ranking, frauds = Ranking.of(scores, final[test]), rules.scale.scores(scores)[final[test] == 1]
    stopped = (frauds >= rules.policy.step_up_from).mean()
    return np.array(
        [ranking.average_precision(), ranking.roc_auc(), stopped, len(train), len(validation)], dtype=float
    )


def changed_split(
    configuration: Configuration, times: IntArray, as_of: int, change: tuple[float, float, float]
) -> SplitSettings:
    """Change burn-in, gap and train part."""
    settings, (burn_in, gap, train) = configuration.training.split, change
    reach = configuration.feature_settings.links.reach
    most = int(burn_in * (as_of - int(times[0]))) // DAY * DAY
    return replace(
        settings,
        as_of=as_of,
        burn_in=min(reach, most) if burn_in < 1 or settings.burn_in is None else settings.burn_in,
        gap=int(gap * settings.label_maturity),
        train=train,
        validation=1 - train,
    )


def compare_splits(case: Case) -> None:
    """Print a row for each change of the split: means over the origins, and standard errors of their differences."""
    found = {
        name: np.array([split_at(case, origin, change) for origin in ORIGINS])
        for name, change in SPLITS.items()
    }
    for name, values in found.items():
        means, leads = values.mean(axis=0), values - found["before"]
        errors = leads.std(axis=0, ddof=1) / len(ORIGINS) ** 0.5
        cells = [f"{means[place]:,.0f}" for place in (3, 4)]
        for place in (0, 1, 2):
            cells += [f"{means[place]:.4f}", f"{leads.mean(axis=0)[place]:+.4f} ± {errors[place]:.4f}"]
        print(f"| {' | '.join([case.name, name, *cells])} |", flush=True)


def main() -> None:
    """Print the table."""
    parser = arguments(__doc__)
    for name in TABLES:
        parser.add_argument(
            f"--{name}", type=Path, help="Parquet file of this table; without one it is left out."
        )
    parser.add_argument("--seconds", type=int, default=120)
    parser.add_argument("--splits", action="store_true")
    parser.add_argument("--work", type=Path, default=Path("runs/automl"))
    parser.add_argument("--environments", type=Path, default=Path("runs/environments"))
    options = parser.parse_args()
    os.environ |= {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    names = ["table", "columns", "tool", "used", "average precision", "minus ours", "ROC AUC", "minus ours"]
    if options.splits:
        names[1:4] = ["change", "train", "validation"]
        names += ["stopped frauds", "minus before"]
    print(f"| {' | '.join(names)} |")
    print("| --- " * len(names) + "|", flush=True)
    for name in TABLES:
        file, work = getattr(options, name), options.work / name
        if file is None:
            print(f"| {name} | no file | | | | | | |", flush=True)
        else:
            case = prepare(name, file, work)
            compare_splits(case) if options.splits else compare(case, options)


if __name__ == "__main__":
    main()
