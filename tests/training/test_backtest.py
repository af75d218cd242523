"""Backtests: each fold is a training as of its instant, and what the folds say together."""

import asyncio
import json
import stat
import subprocess
import sys
import time
from collections.abc import Generator
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest
from playwright.async_api import async_playwright
from scipy.stats import binom

import made_results as made
import scoring_model
from backtest_use import UNCHECKED, USE
from browsing import browser_path, note_complaints
from identity_use import write_configuration
from program import Captured, run
from report_use import Page
from running_service import killed_with_children
from scoring_model.configuration import Configuration, load_configuration
from scoring_model.contract.outcome import OUTCOMES, Outcome
from scoring_model.evaluation.bounds import exact_share
from scoring_model.evaluation.report import Drawing
from scoring_model.evaluation.report.words import POSSIBLE
from scoring_model.evaluation.stability import Verdict
from scoring_model.evaluation.stopped import ASSUMED
from scoring_model.evaluation.uncertainty import share_of
from scoring_model.features import FAMILIES
from scoring_model.history import person_codes
from scoring_model.records import NEVER, RecordTable, microseconds
from scoring_model.records.labels import FRAUD, GENUINE, UNLABELLED
from scoring_model.records.observation import NOT_OBSERVED
from scoring_model.records.reading import read_records
from scoring_model.scorer import Scorer
from scoring_model.scorer.frames import score_table
from scoring_model.training import trial_workers
from scoring_model.training.backtest import Backtest, BacktestError, backtest
from scoring_model.training.backtest.calendar import (
    Unit,
    parse_cadences,
    period_name,
    period_of,
    period_start,
)
from scoring_model.training.backtest.judging import tally
from scoring_model.training.backtest.report import backtest_report, backtest_summary
from scoring_model.training.backtest.result import Fold, PromiseMonth, judge_promise
from scoring_model.training.backtest.run import _left_out
from scoring_model.training.run import run_training
from scoring_model.training.rungs import Rung, run_trial

CADENCES = "1m,3m"


@pytest.fixture(scope="module")
def use(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The configuration."""
    return write_configuration(tmp_path_factory.mktemp("backtest"), USE)


@pytest.fixture(scope="module")
def configuration(use: Path) -> Configuration:
    """The configuration, read, without leakage checks."""
    return load_configuration(write_configuration(use.parent, UNCHECKED, name="unchecked.yaml"))


@pytest.fixture(scope="module")
def lines() -> list[str]:
    """What the backtest reports while it runs."""
    return []


@pytest.fixture(scope="module")
def rolling(small: Path, use: Path, lines: list[str]) -> Backtest:
    """A backtest with two cadences and train parts of one length, each with fitted tables of its own."""
    return backtest(small, use, cadence=CADENCES, window="rolling", threads=1, report=lines.append)


@pytest.fixture(scope="module")
def written(rolling: Backtest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Its report."""
    path = tmp_path_factory.mktemp("backtest") / "report.html"
    rolling.report(path)
    return path


def as_fold(configuration: Configuration, fold: Fold) -> Configuration:
    """The configuration of a training that makes the model of a fold."""
    return replace(configuration, training=replace(configuration.training, split=fold.settings))


def scores_of(scorer: Scorer, path: Path, record_ids: tuple[str, ...]) -> np.ndarray:
    """The scores that a bundle gives some records of a file, which is their history."""
    table = read_records(path, scorer.contents.schema, labelled=True).table
    places = {record: place for place, record in enumerate(table.record_ids)}
    decisions = score_table(scorer, table, reasons=False).decisions
    return decisions.scores[[places[record] for record in record_ids]]


def assert_same_model(found: Backtest, fold: Fold, scorer: Scorer, path: Path) -> None:
    """The thresholds, promises and scores of a fold are those of a bundle, bit for bit."""
    policy = scorer.contents.rules.policy
    assert (fold.step_up_from, fold.fail_from) == (policy.step_up_from, policy.fail_from)
    assert fold.promises == policy.promises
    expected = found.scores[fold.as_of]
    assert len(expected) > 100
    assert np.array_equal(scores_of(scorer, path, found.record_ids[-len(expected) :]), expected)


def test_a_rolling_fold_is_a_training_of_its_own(
    rolling: Backtest, small: Path, small_table: RecordTable, configuration: Configuration, tmp_path: Path
) -> None:
    """Its tables are fitted on a longer burn-in than those of the first fold; it equals `train` bit for bit."""
    fold = rolling.folds[-2]
    bundle = run_training(small_table, as_fold(configuration, fold), threads=1).bundle
    assert fold.parts[0].records > rolling.folds[0].parts[0].records
    assert_same_model(rolling, fold, Scorer.load(bundle.save(tmp_path / "bundle")), small)


@pytest.fixture(scope="module")
def searching(configuration: Configuration) -> Configuration:
    """The configuration with a search in each fold, and with label statistics, one of which is kept in any case."""
    features = replace(
        configuration.features,
        drop_useless=True,
        families=FAMILIES,
        keep=("signal_channel_known_fraud_share",),
    )
    return replace(configuration, training=replace(configuration.training, tuned=None), features=features)


@pytest.fixture(scope="module")
def searched(small: Path, searching: Configuration) -> Backtest:
    """One fold that searches."""
    return scoring_model.backtest(small, searching, folds=1, threads=1)


def test_an_expanding_fold_is_a_training_as_of_its_instant(
    small: Path, small_table: RecordTable, searching: Configuration, searched: Backtest, tmp_path: Path
) -> None:
    """With shares and a search, a training as of its instant makes its model, though the file holds later records."""
    found = searched
    (fold,) = found.folds
    bundle = run_training(small_table, searching.trained_as_of(fold.as_of), threads=1).bundle
    assert found.window == "expanding"
    assert fold.useless
    assert "signal_channel_known_fraud_share" in bundle.contents.features.names
    assert_same_model(found, fold, Scorer.load(bundle.save(tmp_path / "bundle")), small)


def test_possible_folds_are_reported_before_the_work(rolling: Backtest, lines: list[str]) -> None:
    """All instants are named in order of time, those without a fold with the reason, before the first leakage check."""
    work = next(place for place, line in enumerate(lines) if line.startswith("checks: SM001"))
    named = [line for line in lines[:work] if line.startswith(("fold as of", "no fold as of"))]
    days = [line.partition("as of ")[2][:10] for line in named]
    assert days == sorted(days)
    assert [one.code for one in rolling.findings] == ["SM001", "SM002", "SM003", "SM004", "SM015", "SM018"]
    assert "SM015" in lines[work]
    assert len(named) == len(rolling.folds) + len(rolling.impossible)
    assert [line for line in named if line.startswith("fold")] == [
        line for line in named if line.partition("as of ")[2][:10] in {day(f.as_of) for f in rolling.folds}
    ]
    assert all(one.reason for one in rolling.impossible)
    assert sum("folds, as of" in line for line in lines[work:]) == len(rolling.folds)


def day(instant: int) -> str:
    """The day of an instant."""
    return str(np.datetime64(instant, "us").astype("datetime64[D]"))


def test_every_record_is_judged_or_counted(rolling: Backtest, small: Path) -> None:
    """The periods follow each other, and with the left-out records they hold all of the file."""
    judged = sum(genuine + frauds for genuine, frauds in rolling.periods.values())
    assert judged + sum(rolling.left_out.values()) == len(pq.read_table(small)) == rolling.data.records
    assert len(rolling.record_ids) == judged
    months = [np.datetime64(name, "M") for name in rolling.periods]
    assert all(later - earlier == np.timedelta64(1, "M") for earlier, later in pairwise(months))
    assert rolling.folds[0].as_of == microseconds(f"{months[0]}-01")


def test_who_was_stopped_is_not_called_young() -> None:
    """Of the judged months all are counted: those that were stopped by themselves, not with those of later months."""
    times = [microseconds(f"2026-{month:02}-05") for month in (1, 2, 3, 3, 4)]
    first = SimpleNamespace(as_of=microseconds("2026-02-01"))
    history: Any = SimpleNamespace(table=SimpleNamespace(event_times=np.array(times)))
    stop = period_of(microseconds("2026-04-01"), Unit.MONTH)
    plan: Any = SimpleNamespace(
        folds=[first],
        unit=Unit.MONTH,
        periods=range(stop - 2, stop),
        judged=SimpleNamespace(rows=np.array([1, 2])),
    )
    assert list(_left_out(history, plan).items()) == [
        ("before the first fold", 1),
        ("younger than the label maturity window, or in a month with such records", 1),
        (NOT_OBSERVED, 1),
    ]


def test_promises_hold_whatever_the_stopped_applicants_were() -> None:
    """Where applicants were stopped the page says so of promises, and that the other figures are of the others."""
    found = made.made_backtest()
    pages = [
        str(backtest_report(replace(found, left_out=left_out)).sections)
        for left_out in ({"before the first fold": 3}, {NOT_OBSERVED: 271})
    ]
    whatever, observed = ", whatever the stopped applicants were", ", among those who were observed"
    for said, of_whom in (
        ("Of all promises by month{}: trained", whatever),
        ("instead of once{}: ", observed),
        ("Promises by month{}, and", whatever),
    ):
        assert [said.format("") in page for page in pages] == [True, False]
        assert [said.format(of_whom) in page for page in pages] == [False, True]


def test_a_promise_that_the_stopped_ones_leave_open_says_so() -> None:
    """Ten of 400 keep 5 % among the observed; ends of 1 to 9 % leave it open, and no range wider than half is shown."""
    found = made.made_backtest()
    first = replace(found.promises[0], verdict=Verdict.UNDECIDED, possible=made.estimate(None, 0.01, 0.09))
    promises = (first, replace(found.promises[2], possible=made.estimate(None, 0.1, 0.9)))
    open_ = backtest_report(replace(found, left_out={NOT_OBSERVED: 271}, promises=promises))
    text = str(open_.sections)
    assert "leave verdicts on “Genuine stepped up or failed” undecided, which those" in text
    assert "A control group would show what the stopped ones are." in text
    (drawing,) = open_.sections[0].drawings
    assert isinstance(drawing, Drawing)
    assert drawing.grid is not None
    column = drawing.grid.heads.index(POSSIBLE)
    assert [row[column].text for row in drawing.grid.rows] == ["1.0% to 9.0%", "can’t know"]


@pytest.fixture(scope="module")
def stopping(small: Path, use: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Configuration]:
    """Records of a policy of its own, one of each person: many were stopped, of most of whom no label is known."""
    path = tmp_path_factory.mktemp("stopping") / "records.parquet"
    text = UNCHECKED.replace("  labels: {", "  columns: {outcome: decision}\n  labels: {")
    configuration = load_configuration(write_configuration(use.parent, text, name="stopping.yaml"))
    frame = pq.read_table(small).to_pandas()
    table = read_records(small, load_configuration(use).schema, labelled=True).table
    persons = person_codes(table, alone=True)
    frame = frame[~pd.Series(persons).duplicated().to_numpy()]
    places, fraud = np.arange(len(frame)), frame["label"] == "fraud"
    frame["decision"] = np.where((places % 12 == 5) | (fraud & (places % 4 == 2)), "FAILED", "PASSED")
    stopped, half = frame["decision"] == "FAILED", places % 24 == 5
    frame.loc[stopped, ["label", "labelKnownAt"]] = None
    frame.loc[stopped & half, ["label", "labelKnownAt"]] = "genuine", frame["eventTime"].min()
    frame.to_parquet(path)
    return path, configuration


def test_promises_allow_for_every_label_of_the_stopped(
    stopping: tuple[Path, Configuration], tmp_path: Path
) -> None:
    """Counted from the scores of the fold's bundle: a stopped record counts as an error, or as of the other class."""
    path, configuration = stopping
    found = backtest(path, configuration, folds=1, threads=1)
    (fold,) = found.folds
    table = read_records(path, configuration.schema, labelled=True).table
    bundle = run_training(table, as_fold(configuration, fold), threads=1).bundle.save(tmp_path / "bundle")
    scores = score_table(Scorer.load(bundle), table, reasons=False).decisions.scores
    inside = table.event_times >= fold.as_of
    inside &= table.event_times < period_start(period_of(fold.as_of, Unit.MONTH) + 1, Unit.MONTH)
    observed, fraud = table.observed_until == NEVER, table.labels == FRAUD
    assert found.stopped == np.count_nonzero(inside & ~observed)

    def count(mask: np.ndarray) -> int:
        return int(np.count_nonzero(mask))

    for month in found.promises:
        threshold = fold.fail_from if month.bound == "max_false_reject" else fold.step_up_from
        wrong = scores >= np.int64(threshold or 0)
        genuine, maybe = inside & observed & ~fraud, inside & ~observed & (table.labels == UNLABELLED)
        known = genuine | (inside & ~observed & (table.labels == GENUINE))
        errors, total, more, others = map(count, (known & wrong, known, maybe & wrong, maybe & ~wrong))
        assert month.share == exact_share(count(genuine & wrong), count(genuine))
        assert month.possible is not None
        assert month.possible.low == exact_share(errors, total + others).low
        assert month.possible.high == exact_share(errors + more, total + more).high
        assert total > count(genuine)
        assert others > 0
        assert more > 0 or month.bound == "max_false_reject"


def in_use(found: Backtest, start: int, step: int) -> Fold:
    """The fold whose model decides about a period: the latest one at a multiple of `step` months from the first."""
    first = period_of(found.folds[0].as_of, Unit.MONTH)
    due = [
        fold
        for fold in found.folds
        if fold.as_of <= start and (period_of(fold.as_of, Unit.MONTH) - first) % step == 0
    ]
    return due[-1]


def test_cadences_decide_with_their_latest_model(rolling: Backtest) -> None:
    """Applicants who do not pass, counted anew from the scores and thresholds of the models in use."""
    genuine, frauds = (sum(sides) for sides in zip(*rolling.periods.values(), strict=True))
    for result, step in zip(rolling.cadences, (1, 3, 1000), strict=True):
        not_passed, first, models = 0, 0, set()
        for name, sides in rolling.periods.items():
            fold = in_use(rolling, microseconds(f"{name}-01"), step)
            scores, threshold = rolling.scores[fold.as_of], fold.step_up_from
            assert threshold is not None
            start = len(scores) - (genuine + frauds) + first
            not_passed += int(np.count_nonzero(scores[start : start + sum(sides)] >= threshold))
            first += sum(sides)
            models.add(fold.as_of)
            tested = {
                one.as_of for one in rolling.promises if (one.cadence, one.period) == (result.cadence, name)
            }
            assert tested == ({fold.as_of} if result.cadence != "never" else set())
        missed, stepped_up = (result.figures[name].value for name in ("missed_fraud", "step_up"))
        assert missed is not None
        assert stepped_up is not None
        assert stepped_up * genuine + (1 - missed) * frauds == pytest.approx(not_passed)
        assert result.models == len(models)


def test_differences_are_those_of_the_figures(rolling: Backtest) -> None:
    """Each pair of cadences is there, with the difference inside its interval."""
    figures = {one.cadence: one.figures for one in rolling.cadences}
    assert [(pair.cadence, pair.against) for pair in rolling.differences] == [
        ("1m", "3m"),
        ("1m", "never"),
        ("3m", "never"),
    ]
    for pair in rolling.differences:
        found = pair.figures["step_up"]
        one, other = figures[pair.cadence]["step_up"].value, figures[pair.against]["step_up"].value
        assert one is not None
        assert other is not None
        assert found.value == pytest.approx(one - other)
        assert found.low is not None
        assert found.high is not None
        assert found.low <= one - other <= found.high


def test_ageing_compares_models_on_the_same_periods(rolling: Backtest) -> None:
    """Mean difference of an old model and the fresh one of the same period, from the figures of single models."""
    fresh = {model.period: model for model in rolling.models if model.age == 0}
    for aged in rolling.ageing:
        differences = []
        pairs = [(m, fresh[m.period]) for m in rolling.models if m.age == aged.age and m.period in fresh]
        for old, new in pairs:
            before, after = new.figures["step_up"], old.figures["step_up"]
            assert before is not None
            assert after is not None
            differences.append(after - before)
        assert aged.periods == len(pairs)
        assert aged.figures["step_up"].value == pytest.approx(np.mean(differences))
    assert [aged.age for aged in rolling.ageing] == sorted({aged.age for aged in rolling.ageing})
    assert rolling.ageing


def test_shorter_histories_are_the_latest_ones(rolling: Backtest) -> None:
    """Parts of the train part end where it does and grow backwards; the whole differs from itself by nothing."""
    assert rolling.learning
    for as_of in {point.as_of for point in rolling.learning}:
        points = [point for point in rolling.learning if point.as_of == as_of]
        train = next(p for f in rolling.folds if f.as_of == as_of for p in f.parts if p.part == "train")
        assert points[-1].share == 1
        assert (points[-1].records, points[-1].frauds) == (train.genuine + train.frauds, train.frauds)
        assert [point.since for point in points] == sorted([p.since for p in points], reverse=True)
        assert [point.records for point in points] == sorted(point.records for point in points)
        assert points[-1].differences["roc_auc"].value == 0


def test_families_carry_every_model(rolling: Backtest) -> None:
    """Each fold has the contributions of the families, heaviest first."""
    for fold in rolling.folds:
        weights = [weight.value or 0.0 for weight in fold.families.values()]
        assert {"links", "signals", "names"} <= fold.families.keys()
        assert weights == sorted(weights, reverse=True)


def test_a_killed_backtest_resumes_to_the_same_bytes(
    small: Path, use: Path, rolling: Backtest, written: Path, tmp_path: Path, capsys: Captured
) -> None:
    """Killed after a fold, it ends with its two processes; resumed, it writes what one process wrote at once."""
    report = tmp_path / "report.html"
    work = tmp_path / "report.html.work"
    arguments = ["backtest", str(small), "--config", str(use), "--cadence", CADENCES, "--report", str(report)]
    arguments += ["--window", "rolling", "--threads", "2", "--processes", "2"]
    script = "import sys; from scoring_model.cli import main; sys.exit(main(sys.argv[1:]))"
    with subprocess.Popen([sys.executable, "-c", script, *arguments], stderr=subprocess.PIPE) as program:
        while not list(work.glob("fold-*.npz")) and program.poll() is None:
            time.sleep(0.02)
        assert program.poll() is None, program.communicate()[1]
        killed_with_children(program.pid)
    assert not report.exists()
    assert stat.S_IMODE(work.stat().st_mode) == 0o700
    code, output, error = run(capsys, *arguments[:-4], "--threads", 1, "--resume")
    assert code == 0, error
    assert "finished folds read back" in error
    assert report.read_bytes() == written.read_bytes()
    assert output == f"{backtest_summary(rolling)}\nreport: {report}\n"
    assert not work.exists()


async def _look(path: Path) -> tuple[list[str], dict[str, int]]:
    """Open a page on a phone; return complaints and measures."""
    complaints: list[str] = []
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=browser_path(), args=["--no-sandbox"])
        page = await browser.new_page(viewport={"width": 360, "height": 740})
        note_complaints(page, complaints)
        await page.goto(path.as_uri())
        for summary in await page.locator("summary").all():
            await summary.click()
        found = await page.evaluate(
            """() => {
                const all = selector => [...document.querySelectorAll(selector)];
                return {
                    overflow: document.documentElement.scrollWidth - innerWidth,
                    drawings: all('figure svg').length,
                    unnamed: all('svg').filter(one => !one.getAttribute('aria-label')).length,
                    tables: all('figure table').filter(one => one.getBoundingClientRect().height > 20).length,
                };
            }"""
        )
        await browser.close()
    return complaints, found


@pytest.mark.browser
def test_the_report_is_one_page(rolling: Backtest, written: Path) -> None:
    """It loads nothing and fits a phone; every figure is named and has its numbers; it says what the output says."""
    page = Page.of(written.read_text(encoding="utf-8"))
    assert {"promises", "cadences", "ageing", "history", "families", "folds", "provenance"} <= set(page.ids)
    assert {link[1:] for link in page.links} <= set(page.ids)
    assert page.addresses == ["data:,"]
    texts = [line for line in backtest_summary(rolling).splitlines() if line[:1] not in ("", "#", "*", "|")]
    assert len(texts) > 3
    assert all(line.replace("\\", "") in page.text for line in texts)
    assert "; expected cost of an applicant " in page.text
    assert texts[0].endswith(f"{ASSUMED}.")
    folds = next(table for table in page.tables if table[0][0] == "As of")
    assert len(folds) == 1 + len(rolling.folds)
    complaints, found = asyncio.run(_look(written))
    assert complaints == []
    assert found["overflow"] <= 0
    assert found["unnamed"] == 0
    assert found["drawings"] == found["tables"] == 2 + 4 + 2 + 1 + 1


def test_an_interrupted_search_is_continued(
    small: Path, searching: Configuration, searched: Backtest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A resumed run makes only the trials that are missing, and gives the same bytes."""
    work, begun = tmp_path / "work", list[int]()

    def interrupted(*given: Any) -> Generator[Rung, None, None]:
        begun.append(1)
        if len(begun) == 4:  # two measure the gain of label statistics, before the search
            raise KeyboardInterrupt
        return run_trial(*given)

    monkeypatch.setattr(trial_workers, "run_trial", interrupted)
    with pytest.raises(KeyboardInterrupt):
        backtest(small, searching, folds=1, threads=1, work=work)
    assert "search-0000.journal" in {path.name for path in work.iterdir()}
    found = backtest(small, searching, folds=1, threads=1, work=work, resume=True)
    assert len(begun) == 4 + 2 + (searching.training.tuning.trials or 0) - 1
    assert json.dumps(found.to_json()) == json.dumps(searched.to_json())
    assert np.array_equal(found.scores[found.folds[0].as_of], searched.scores[found.folds[0].as_of])
    assert not work.exists()


def test_an_error_keeps_finished_folds_alone(
    small: Path, configuration: Configuration, tmp_path: Path
) -> None:
    """The feature rows are removed; the resumed run trains nothing, checks nothing again, and removes the rest."""
    work = tmp_path / "work"

    def fail(line: str) -> None:
        if line.startswith("1 of 1 folds"):
            raise RuntimeError("the disk of the log is full")

    with pytest.raises(RuntimeError, match="log is full"):
        backtest(small, configuration, folds=1, threads=1, work=work, report=fail)
    assert sorted(path.name for path in work.iterdir()) == ["findings.json", "fold-0000.npz", "manifest.json"]
    lines: list[str] = []
    found = backtest(small, configuration, folds=1, threads=1, work=work, resume=True, report=lines.append)
    assert lines[-1] == "1 finished folds read back"
    assert len(found.folds) == 1
    assert not work.exists()


def test_foreign_work_directories_are_left_alone(small: Path, use: Path, tmp_path: Path) -> None:
    """A directory with other files is refused, and so are the folds of another run."""
    (tmp_path / "mine.txt").write_text("mine")
    with pytest.raises(BacktestError, match="not the work directory"):
        backtest(small, use, folds=1, work=tmp_path)
    other = tmp_path / "other"
    other.mkdir()
    (other / "manifest.json").write_text('{"key": "of another run"}')
    with pytest.raises(BacktestError, match="other records, options, settings or versions"):
        backtest(small, use, folds=1, work=other, resume=True)
    assert (tmp_path / "mine.txt").read_text() == "mine"
    assert (other / "manifest.json").exists()


def test_a_history_without_a_possible_fold_is_refused(small: Path, tmp_path: Path) -> None:
    """The error names each instant and why no model can be trained there; nothing is left behind."""
    use = write_configuration(tmp_path, USE.replace("min_frauds: 3", "min_frauds: 300"))
    with pytest.raises(BacktestError, match=r"as of 2024-11-01: .*needs 300") as refused:
        backtest(small, use, work=tmp_path / "work")
    assert str(refused.value).count("\n- as of ") == 11
    assert not (tmp_path / "work").exists()


def test_periods_are_whole_months_or_weeks() -> None:
    """Each period begins where the one before it ends; weeks begin on Monday."""
    for unit in Unit:
        for period in (0, 1, 650, 651):
            start, end = period_start(period, unit), period_start(period + 1, unit)
            assert (period_of(start, unit), period_of(end - 1, unit)) == (period, period)
            assert microseconds(np.datetime64(period_name(period, unit))) == start
    assert period_name(period_of(microseconds("2024-03-13"), Unit.WEEK), Unit.WEEK) == "2024-03-11"


def test_cadences_are_read_in_order() -> None:
    """Distinct, the most frequent first; other forms and mixtures are refused, each named."""
    assert [str(one) for one in parse_cadences(" 3m,1m,1m")] == ["1m", "3m"]
    assert [str(one) for one in parse_cadences(["2w"])] == ["2w"]
    for text, message in (("1m,x,0m", "'x', '0m'"), ("1m,2w", "all be weeks")):
        with pytest.raises(BacktestError, match=message):
            parse_cadences(text)


@pytest.mark.parametrize("limit", [0.01, 0.2])
def test_true_promises_are_seldom_called_broken(limit: float) -> None:
    """Where the share is the limit, a period is called broken, or kept, with a probability of at most delta."""
    records, delta = 400, 0.025
    chances = binom.pmf(np.arange(records + 1), records, limit)
    verdicts = [
        judge_promise(*[share_of(k, records)] * 2, limit=limit, delta=delta) for k in range(records + 1)
    ]
    for verdict in (Verdict.BROKEN, Verdict.KEPT):
        assert chances[[one is verdict for one in verdicts]].sum() <= delta
    assert verdicts[0] is Verdict.KEPT
    assert verdicts[-1] is Verdict.BROKEN
    assert judge_promise(*[share_of(0, 0)] * 2, limit=limit, delta=delta) is Verdict.UNDECIDED
    # All labels of the stopped ones have to agree.
    best, worst = share_of(0, records), share_of(records, records)
    assert judge_promise(best, worst, limit=limit, delta=delta) is Verdict.UNDECIDED


def test_chance_explains_some_broken_promises() -> None:
    """Of 24 months at 2 x 0.025, chance breaks up to 3 with 95 %; the p-value is a sum of binomial terms."""
    month = PromiseMonth(
        cadence="1m",
        period="2024-01",
        as_of=0,
        bound="max_step_up",
        limit=0.05,
        delta=0.025,
        share=share_of(1, 10),
        verdict=Verdict.BROKEN,
    )
    kept = replace(month, verdict=Verdict.KEPT)
    (found,) = tally([month] * 4 + [kept] * 20)
    chances = [binom.pmf(k, 24, 0.05) for k in range(25)]
    assert (found.judged, found.broken, found.kept, found.undecided) == (24, 4, 20, 0)
    assert sum(chances[: found.explained]) < 0.95 <= sum(chances[: found.explained + 1])
    assert found.p_value == pytest.approx(sum(chances[4:]), rel=1e-4)


def test_outcomes_are_ordered() -> None:
    """The order of outcomes that the counts of errors rest on."""
    assert OUTCOMES == (Outcome.PASSED, Outcome.STEPPED_UP, Outcome.FAILED)


def test_the_frame_holds_every_part(rolling: Backtest) -> None:
    """One row for each figure, with its records."""
    frame = rolling.to_frame()
    parts = {"cadence", "difference", "promise", "model", "ageing", "learning", "family"}
    assert set(frame["part"]) == parts
    promises = frame[frame["part"] == "promise"]
    assert len(promises) == len(rolling.promises)
    assert (promises["records"] > 0).all()
