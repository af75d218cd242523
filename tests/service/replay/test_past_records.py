"""Commands on a service's verifications give what they give on its exported history."""

import base64
import json
import re
import signal
import subprocess
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import pyarrow.parquet as pq
import pytest

from applications import applications
from program import Captured, refused, run
from running_service import PROGRAM
from scoring_model.records import rfc3339
from scoring_model.service.labels.imports import LabelLine, import_labels
from service_use import SetClock, World, run_story

COUNT: Final = 200
DAY: Final = 86_400_000_000
TEXTS: Final = {
    "email": ("annlee@gmail.com", "me@example.org"),
    "ip": ("192.0.2.7", "198.51.100.9"),
    "mobile": ("07400 123456", "+33 6 12 34 56 78"),
}
"""Values of the signals that the bundles read beside those of the applications."""


@dataclass(frozen=True)
class Past:
    """A database with verifications over two months, their export, and the end of it all."""

    url: str
    exported: Path
    as_of: str


async def fill(world: World) -> int:
    """Verify applications and report their labels; returns an instant after everything."""
    caller = await world.client()
    async with world.store.reading() as reader:
        clients = await reader.clients()
    for place, one in enumerate(applications(COUNT, seed=33, months=2)):
        world.clock.at = one.at
        signals = {**one.signals, **{name: texts[place % 2] for name, texts in TEXTS.items()}}
        made = (await world.verify(caller, signals=signals, subject=one.subject)).resource
        if place % 4 == 0:
            word = "fraud" if one.label == "fraud" or place % 16 == 0 else "genuine"
            await import_labels(world.store, clients, [LabelLine(made.id, None, word, one.at)], world.clock)
    return world.clock.at + DAY


@pytest.fixture(scope="module")
def past(migrated: Path, summing: Path, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """A database that a service filled."""
    folder = tmp_path_factory.mktemp("past")
    url = f"sqlite:///{folder / 'scoring.db'}"
    (folder / "scoring.db").write_bytes(migrated.read_bytes())
    clock = SetClock(applications(1, seed=33, months=2)[0].at)
    end = run_story(url, summing, fill, clock=clock)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MASTERS", base64.b64encode(bytes(range(32))).decode())
        patch.setenv("SCORING_MODEL_MASTER_KEY", "env:MASTERS")
        yield Past(url, folder / "export.parquet", rfc3339(end))


@pytest.fixture
def exported(past: Past, summing: Path, capsys: Captured) -> Path:
    """Its export, without the scores: a file that is scored anew, and says what was decided."""
    if not past.exported.exists():
        words = ("data", "export", "--database", past.url, "--bundle", summing, "--out", past.exported)
        code, _, error = run(capsys, *words)
        assert code == 0, error
        table = pq.read_table(past.exported)
        pq.write_table(table.drop_columns("scoringScore"), past.exported)
    return past.exported


def documents(capsys: Captured, folder: Path, *words: object) -> tuple[int, Any]:
    """Exit code and JSON of a command."""
    out = folder / "found.json"
    code, _, error = run(capsys, *words, "--json", out)
    assert code in (0, 10), error
    return code, json.loads(out.read_text())


def test_two_bundles_compare_as_on_the_export(
    past: Past,
    exported: Path,
    summing: Path,
    challenger: Path,
    capsys: Captured,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Differences, flips with reasons, groups, gates and exit code; what was left out is in the report."""
    gates = tmp_path / "gates.yaml"
    gates.write_text(
        "gates: {ranking: {difference: roc_auc, above: 0.9}}\nallow_trained: true\nmin_days: 10\n"
    )
    words = ("compare", summing, challenger)
    common = ("--as-of", past.as_of, "--label-maturity", "1h", "--by", "signals.email", "--gate", gates)
    report = tmp_path / "report.html"
    code, found = documents(capsys, tmp_path, *words, "--database", past.url, *common, "--report", report)
    same, expected = documents(capsys, tmp_path, *words, exported, *common)
    assert code == same
    stopped = found["champion"]["stopped"]["records"]
    assert stopped > 0
    assert found["records"] == expected["records"] == COUNT - stopped
    assert found["flips"]
    for part in ("differences", "flips", "flip_rates", "daily", "groups", "gates"):
        assert found[part] == expected[part], part
    assert past.url in report.read_text(encoding="utf-8")
    for wrong, problem in (
        ((), "either files or --database"),
        ((exported, "--since", "7d"), "--since is for --database"),
        (("--database", past.url, "--history", exported), "are for files"),
        (("--database", past.url, "--follow"), "belong together"),
    ):
        code, _, error = run(capsys, *words, *wrong)
        assert (code, problem in error) == (2, True), error
    monkeypatch.setenv("SCORING_MODEL_DATABASE", past.url)
    _, named = documents(capsys, tmp_path, *words, *common)
    assert named["differences"] == found["differences"]
    assert "--since is for --database" in run(capsys, *words, exported, "--since", "7d")[2]


def test_a_bundle_is_monitored_as_on_the_export(
    past: Past, exported: Path, summing: Path, capsys: Captured, tmp_path: Path
) -> None:
    """Drift, early verdicts, estimates and matured labels; a period without verifications ends in code 11."""
    common = ("--as-of", past.as_of, "--label-maturity", "1h")
    _, found = documents(capsys, tmp_path, "monitor", summing, "--database", past.url, *common)
    _, expected = documents(capsys, tmp_path, "monitor", summing, exported, *common)
    assert found["records"] == COUNT
    for part in ("drift", "early", "estimates", "promises", "maturity"):
        assert found[part] == expected[part], part
    words = ("monitor", "--database", past.url)
    code, _, error = run(capsys, words[0], summing, *words[1:], "--since", past.as_of)
    assert code == 11, error
    assert "no bundle has served" in refused(capsys, *words)


def flips(path: Path) -> tuple[list[Any], Any]:
    """The flips that a process printed, and its last summary."""
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    assert lines[-1]["type"] == "summary"
    return [line for line in lines if line["type"] == "flip"], lines[-1]


def followed(past: Past, out: Path, *words: object) -> None:
    """Run `compare --follow` as a process until its first summary, and stop it by SIGTERM."""
    with out.open("w") as file:
        process = subprocess.Popen([PROGRAM, *map(str, words)], stdout=file, stderr=subprocess.PIPE)
        while process.poll() is None and "summary" not in out.read_text():
            time.sleep(0.05)
        process.send_signal(signal.SIGTERM)
        _, error = process.communicate()
    assert process.returncode == 0, error


def test_arriving_verifications_are_compared_once(
    past: Past, exported: Path, summing: Path, challenger: Path, capsys: Captured, tmp_path: Path
) -> None:
    """Every flip is a line; a second run goes on where the first stopped; the state is of these two bundles alone."""
    words = ("compare", summing, challenger, "--database", past.url, "--follow", "--since", "2020-01-01")
    state = ("--state", tmp_path / "state.json")
    followed(past, tmp_path / "first", *words, *state, "--every", "1s")
    found, summary = flips(tmp_path / "first")
    assert (summary["verifications"], summary["compared"], summary["flips"]) == (COUNT, COUNT, len(found))
    scores = tmp_path / "whatif.parquet"
    code, said, error = run(capsys, "whatif", "--database", past.url, "--bundle", challenger, "--out", scores)
    assert code == 0, error
    rows = {row["verificationId"]: row for row in pq.read_table(scores).to_pylist()}
    flipped = sum(row["flipped"] for row in rows.values())
    others = sum(row["scoringScore"] != row["whatifScore"] and not row["flipped"] for row in rows.values())
    counts = re.findall(r"(\d+) outcomes differ, and of the others (\d+) scores or reasons", said)
    assert [int(counts[0][0]), int(counts[0][1]) >= others > 0] == [flipped, True]
    expected = {
        name: (row["scoringOutcome"], row["whatifOutcome"]) for name, row in rows.items() if row["flipped"]
    }
    shown = {
        one["verificationId"]: (one["champion"]["scoringOutcome"], one["challenger"]["scoringOutcome"])
        for one in found
    }
    assert shown == expected
    pairs = Counter((row["scoringOutcome"], row["whatifOutcome"]) for row in rows.values())
    assert {
        (one["champion"], one["challenger"]): one["verifications"] for one in summary["outcomes"]
    } == pairs
    followed(past, tmp_path / "second", *words, *state, "--every", "1s")
    again, later = flips(tmp_path / "second")
    assert (again, later["compared"]) == ([], COUNT)
    other = ("compare", challenger, summing, *words[3:], *state)
    assert "the state is of" in refused(capsys, *other)
