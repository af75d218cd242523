"""Retrain a service end to end on invented records, in a temporary folder: from its records to its next bundle.

A first bundle is trained on the first year and serves on SQLite; the second year is its past. Applicants come over
HTTP, some get labels, and `scoring-model retrain` answers. What it promotes serves without a restart. The records end
today, so their days, and with them the answer, may differ from day to day: about a hundred frauds decide.
"""

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final

import pyarrow.parquet as pq
import yaml

from scoring_model.cli import main
from scoring_model.client import Client, Label
from scoring_model.synthetic.cut import cut
from scoring_model.synthetic.sign_ups import sign_up

RECORDS: Final = 50_000
ARRIVALS: Final = 150
FIRST, NEXT = "first", "next"
EXPORT_DELAY: Final = 11.0
"""Seconds: an export ends ten seconds before it begins, so that everything in it is committed."""

ANSWERS: Final = (0, 10, 11)
"""Exit codes of `retrain`: promote, keep, wait."""

TREES: Final = {FIRST: 3, NEXT: 150}
LEAVES: Final = {FIRST: 2, NEXT: 15}
"""The first model has three splits, so that a hundred frauds show that the next one is better."""

GATES: Final = """\
gates:
  ranking: {difference: roc_auc, above: -0.005}
  friction: {difference: step_up, below: 0.08} # as much as the policy allows
looks: {gain: 0.15} # a gain that a hundred frauds can show
"""


def scoring_model(*words: object, codes: Collection[int] = (0,)) -> None:
    """Run a command of the program, and show it."""
    print(f"\n$ scoring-model {' '.join(map(str, words))}", flush=True)
    code = main([str(word) for word in words])
    if code not in codes:
        sys.exit(code)


def invent(folder: Path, now: datetime) -> list[dict[str, Any]]:
    """Write the past up to now, with the labels known by now; return the applicants who come next."""
    everything, past = folder / "all.parquet", folder / "past.parquet"
    start = (now - timedelta(days=700)).date()
    scoring_model("synth", everything, "--records", RECORDS, "--start", start, "--months", 24)
    table = pq.read_table(everything)
    earlier, later = cut(table, now)
    pq.write_table(earlier, past)
    arrivals: list[dict[str, Any]] = later.slice(0, ARRIVALS).to_pylist()
    return arrivals


def configure(folder: Path, name: str) -> Path:
    """Write a configuration for few records, with parameters instead of a search."""
    recipe = yaml.safe_load(Path("configs/identity.yaml").read_text(encoding="utf-8"))
    recipe["training"] = {
        "split": {"label_maturity": "30d", "min_frauds": 5},
        "tuned": {"params": {"learning_rate": 0.1, "num_leaves": LEAVES[name]}, "rounds": TREES[name]},
    }
    recipe["policy"] = {"max_false_reject": 0.01, "max_step_up": 0.08}
    path = folder / f"{name}.yaml"
    path.write_text(yaml.safe_dump(recipe, sort_keys=False), encoding="utf-8")
    return path


@contextmanager
def served(bundle: Path, database: str) -> Iterator[str]:
    """Serve a bundle on a free port; give the base URL."""
    program = [str(Path(sys.executable).with_name("scoring-model")), "serve", "--port", "0"]
    words = [*program, "--bundle", str(bundle), "--database", database]
    with (
        open(bundle.with_name("serve.log"), "wb") as log,
        subprocess.Popen(words, stdout=subprocess.PIPE, stderr=log, text=True) as process,
    ):
        try:
            url = process.stdout.readline().strip() if process.stdout is not None else ""
            if not url:
                sys.exit(f"the service did not start: {bundle.with_name('serve.log').read_text()}")
            yield url
        finally:
            process.terminate()


def new_client(database: str) -> tuple[str, str]:
    """Create a client; return its identifier and its key."""
    program = str(Path(sys.executable).with_name("scoring-model"))
    words = [program, "clients", "create", "demo", "--database", database, "--json"]
    made = json.loads(subprocess.run(words, check=True, capture_output=True).stdout)
    return made["clientId"], made["apiKey"]


def apply(client: Client, arrivals: list[dict[str, Any]]) -> None:
    """Let applicants come, and report the label of each tenth."""
    made = [sign_up(client, row) for row in arrivals]
    outcomes = [str(one.scoring_outcome) for one in made]
    counts = ", ".join(f"{outcomes.count(one)} {one}" for one in sorted(set(outcomes)))
    print(f"{len(made)} applicants over HTTP, decided by {made[-1].model_version}: {counts}")
    labels = [
        Label(label=row["label"] or "genuine", known_at=datetime.now(UTC), verification_id=one.id)
        for row, one in list(zip(arrivals, made, strict=True))[::10]
    ]
    print(f"{len(client.labels.create(labels).results)} labels reported")


def run(folder: Path) -> int:
    """Run the whole way round."""
    started, now = time.monotonic(), datetime.now(UTC)
    database, tracking = f"sqlite:///{folder}/service.db", f"sqlite:///{folder}/tracking/mlflow.db"
    gates = folder / "gates.yaml"
    gates.write_text(GATES, encoding="utf-8")
    arrivals = invent(folder, now)
    bundle, past = folder / FIRST, folder / "past.parquet"
    a_year_ago = (now - timedelta(days=365)).isoformat()
    scoring_model("train", past, "--config", configure(folder, FIRST), "--out", bundle, "--as-of", a_year_ago)
    scoring_model("database", "migrate", "--database", database)
    client_id, key = new_client(database)
    with served(bundle, database) as url, Client(url, client_id=client_id, api_key=key) as client:
        scoring_model(
            "history",
            "import",
            past,
            "--database",
            database,
            "--client",
            client_id,
            "--bundle",
            bundle,
            "--finish",
        )
        apply(client, arrivals)
        time.sleep(EXPORT_DELAY)
        words = ["--database", database, "--config", configure(folder, NEXT), "--gate", gates, "--past", past]
        scoring_model(
            "retrain", *words, "--tracking-uri", tracking, "--work", folder / "retraining", codes=ANSWERS
        )
        print(f"\nthe next applicant was decided by {sign_up(client, arrivals[0]).model_version}")
        scoring_model("bundles", "list", "--database", database)
    print(f"All records are invented. It took {time.monotonic() - started:.0f} s.")
    return 0


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as name:
        sys.exit(run(Path(name)))
