"""The page of the payments: its snippets and its commands up to the training, on a small table of the same form."""

import re
import shlex
from pathlib import Path
from typing import Final

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest

from scoring_model.cli import main
from scoring_model.configuration import load_configuration

PAGE: Final = (Path(__file__).parents[2] / "docs" / "payments.md").read_text(encoding="utf-8")
DAYS: Final = pd.date_range("2018-04-01", "2018-09-30")


def blocks(language: str) -> list[str]:
    """The code blocks of a language, in the order of the page."""
    return re.findall(rf"^```{language}\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)


def commands(name: str) -> list[list[str]]:
    """The page's calls of a command of the program: its arguments."""
    lines = [line for block in blocks("sh") for line in block.splitlines()]
    return [shlex.split(line)[1:] for line in lines if line.startswith(f"scoring-model {name} ")]


def write_days(folder: Path, each: int = 12) -> None:
    """A file for each day, with the columns of the public table."""
    folder.mkdir(parents=True)
    draw = np.random.default_rng(5)
    for number, day in enumerate(DAYS):
        seconds = np.sort(draw.choice(86_400, each, replace=False))
        fraud = (draw.random(each) < 0.1).astype(int)
        frame = pd.DataFrame(
            {
                "TRANSACTION_ID": number * each + np.arange(each),
                "TX_DATETIME": day + pd.to_timedelta(seconds, unit="s"),
                "CUSTOMER_ID": draw.integers(0, 50, each),
                "TERMINAL_ID": draw.integers(0, 90, each),
                "TX_AMOUNT": np.round(draw.lognormal(3, 1, each), 2),
                "TX_TIME_SECONDS": number * 86_400 + seconds,
                "TX_TIME_DAYS": number,
                "TX_FRAUD": fraud,
                "TX_FRAUD_SCENARIO": fraud * draw.integers(1, 4, each),
            }
        )
        frame.to_pickle(folder / f"{day:%Y-%m-%d}.pkl")


def test_the_way_to_the_training_is_that_of_the_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Snippets run, `init` proposes what the page says, and its sections replace those of the proposal."""
    monkeypatch.chdir(tmp_path)
    write_days(tmp_path / "simulated-data-raw" / "data")
    join, split = blocks("python")
    exec(join, {})
    assert pq.read_metadata("payments.parquet").num_rows == 12 * len(DAYS)
    (init,) = commands("init")
    assert main(init) == 0
    config = Path(init[init.index("--out") + 1])
    proposed = config.read_text(encoding="utf-8")
    (replacing,) = (block for block in blocks("yaml") if block.startswith("training:"))
    config.write_text(proposed[: proposed.index("training:\n")] + replacing, encoding="utf-8")
    found = load_configuration(config)
    assert found.signals.keys() == {"CUSTOMER_ID", "TERMINAL_ID", "TX_AMOUNT"}
    assert found.records.columns["label"] == "TX_FRAUD"
    assert (found.training.split.test, found.policy.confidence) == (0, 0.999)
    check, _of_invented_payments = commands("check")
    assert main(check) == 0
    exec(split, {})
    past, later = (pq.read_metadata(f"{name}.parquet").num_rows for name in ("past", "later"))
    assert (past, later) == (12 * 129, 12 * 54)
    (train,) = commands("train")
    assert train[train.index("--as-of") + 1] in split
