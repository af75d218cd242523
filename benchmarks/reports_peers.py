"""Our report beside Evidently's and skore's, on the same records: size, time to make, time to open.

Exports features, labels and probabilities of labelled records, has each tool make its report of them three times,
checks that all find the same area under the ROC curve, and opens each report in Chromium on a desk and on a phone.
Evidently's and skore's times are those of the calls that make and save a report of the exported table. Ours also covers
what they are given: reading, features, scores, and contributions. Imports are in nobody's time. Each peer has an
environment of its own, which is created once: Evidently 0.7.23 needs pandas 2.
"""

import asyncio
import statistics
import tempfile
import time
from pathlib import Path
from typing import Final, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from shared.browser import open_times
from shared.processes import run_peer
from shared.script import run

from scoring_model.evaluation import Evaluation, evaluate
from scoring_model.scorer import Scorer

REPEATS: Final = 3
ROUNDING: Final = 1e-3
"""Evidently rounds what it reports."""

EVIDENTLY: Final = """
import json, sys, time
import pandas as pd
from evidently import BinaryClassification, DataDefinition, Dataset, Report
from evidently.presets import ClassificationPreset, DataDriftPreset

source, out, repeats = sys.argv[1], sys.argv[2], int(sys.argv[3])
frame = pd.read_parquet(source)
features = [name for name in frame.columns if name not in ("fraud", "flagged", "probability")]
kind = BinaryClassification(
    target="fraud", prediction_labels="flagged", prediction_probas="probability", pos_label=1
)
definition = DataDefinition(
    classification=[kind], numerical_columns=[*features, "probability"], categorical_columns=["fraud", "flagged"]
)
seconds = []
for _ in range(repeats):
    start = time.perf_counter()
    half = len(frame) // 2
    whole, past, now = (
        Dataset.from_pandas(part.reset_index(drop=True), data_definition=definition)
        for part in (frame, frame.iloc[:half], frame.iloc[half:])
    )
    quality = Report([ClassificationPreset()]).run(whole, None)
    quality.save_html(f"{out}/classification.html")
    Report([DataDriftPreset(columns=features)]).run(now, past).save_html(f"{out}/drift.html")
    seconds.append(time.perf_counter() - start)
values = {metric["metric_name"]: metric["value"] for metric in quality.dict()["metrics"]}
auc = next(value for name, value in values.items() if name.startswith("RocAuc"))
print(json.dumps({"seconds": seconds, "roc_auc": auc}))
"""

SKORE: Final = '''
import json, sys, time
import numpy as np
import pandas as pd
import skore
from sklearn.base import BaseEstimator, ClassifierMixin

class Stored(ClassifierMixin, BaseEstimator):
    """A fitted classifier that gives the probabilities of the table."""
    def __init__(self):
        self.classes_ = np.array([0, 1])
    def fit(self, X, y):
        return self
    def predict_proba(self, X):
        return np.column_stack([1 - X["probability"], X["probability"]])
    def predict(self, X):
        return X["flagged"].to_numpy()

source, out, repeats = sys.argv[1], sys.argv[2], int(sys.argv[3])
frame = pd.read_parquet(source)
seconds = []
for _ in range(repeats):
    start = time.perf_counter()
    report = skore.evaluate(
        Stored(), frame.drop(columns="fraud"), frame["fraud"], splitter="prefit", pos_label=1
    )
    page = "<!doctype html><meta charset=utf-8>" + report._repr_html_()
    open(f"{out}/skore.html", "w", encoding="utf-8").write(page)
    seconds.append(time.perf_counter() - start)
print(json.dumps({"seconds": seconds, "roc_auc": report.metrics.roc_auc()}))
'''

PEERS: Final = {
    "evidently": (["evidently==0.7.23", "pandas==2.3.3", "pyarrow==22.0.0"], EVIDENTLY),
    "skore": (["skore==0.28.0", "pyarrow==22.0.0"], SKORE),
}


class Made(NamedTuple):
    """The reports of one tool: seconds of each making, and its pages by name."""

    seconds: list[float]
    roc_auc: float
    pages: dict[str, Path]


def export(scorer: Scorer, evaluation: Evaluation, source: Path, history: Path | None, out: Path) -> None:
    """Write features, label, flag and probability of the evaluated records, in the order of the file."""
    found = scorer.features(source, history=history)
    places = {record: row for row, record in enumerate(found.column("recordId").to_pylist())}
    records = evaluation.records
    features = found.select(list(scorer.matrix.names)).take(
        pa.array([places[one] for one in records.record_ids])
    )
    table = features.append_column("fraud", pa.array(records.labels.astype(np.int64)))
    table = table.append_column("flagged", pa.array((records.decisions.outcomes > 0).astype(np.int64)))
    pq.write_table(table.append_column("probability", pa.array(records.decisions.probabilities)), out)


def make_ours(scorer: Scorer, source: Path, history: Path | None, folder: Path) -> tuple[Made, Evaluation]:
    """Evaluate the file and write the report, each time anew."""
    seconds, page = [], folder / "report.html"
    for _ in range(REPEATS):
        start = time.perf_counter()
        evaluation = evaluate(scorer, source, history=history)
        evaluation.report(page)
        seconds.append(time.perf_counter() - start)
    auc = evaluation.figures["roc_auc"].value
    if auc is None:
        raise SystemExit("the records have no class to rank: nothing is timed")
    return Made(seconds=seconds, roc_auc=auc, pages={"report": page}), evaluation


def make_peer(name: str, environments: Path, matrix: Path, folder: Path) -> Made:
    """Run a peer on the exported table in its own environment."""
    requirements, program = PEERS[name]
    found = run_peer(environments / name, requirements, program, matrix, folder, REPEATS)
    pages = {page.stem: page for page in sorted(folder.glob("*.html"))}
    return Made(seconds=found["seconds"], roc_auc=float(found["roc_auc"]), pages=pages)


def main(
    bundle: Path,
    file: Path,
    *,
    history: Path | None = None,
    environments: Path = Path("runs/environments"),
) -> None:
    """Measure and print."""
    scorer = Scorer.load(bundle)
    with tempfile.TemporaryDirectory() as name:
        folders = {tool: Path(name) / tool for tool in ("scoring-model", *PEERS)}
        for folder in folders.values():
            folder.mkdir()
        ours, evaluation = make_ours(scorer, file, history, folders["scoring-model"])
        matrix = Path(name) / "matrix.parquet"
        export(scorer, evaluation, file, history, matrix)
        made = {"scoring-model": ours}
        made |= {peer: make_peer(peer, environments, matrix, folders[peer]) for peer in PEERS}
        different = [tool for tool, one in made.items() if abs(one.roc_auc - ours.roc_auc) > ROUNDING]
        if different:
            raise SystemExit(f"another area under the ROC curve: {', '.join(different)}; nothing is compared")
        print(f"{evaluation.overall.records:,} records, {len(scorer.matrix.names)} features")
        for tool, one in made.items():
            print(f"{tool}: made in {statistics.median(one.seconds):.2f} s")
            for page, path in one.pages.items():
                opened = asyncio.run(open_times(path, repeats=REPEATS))
                times = ", ".join(f"{size} {statistics.median(took):.2f} s" for size, took in opened.items())
                print(f"  {page}: {path.stat().st_size / 1e6:.2f} MB, opens: {times}")


if __name__ == "__main__":
    run(main)
