"""The report of a window: what it says, that it loads nothing, and that a browser shows it."""

import asyncio
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from playwright.async_api import async_playwright

from browsing import browser_path, note_complaints
from report_use import Page
from scoring_model.configuration import EarlyGate, GateSettings
from scoring_model.decision.rules import Policy, Promise
from scoring_model.estimates import Estimate
from scoring_model.evaluation.report import NothingToDraw
from scoring_model.monitoring import Monitoring, monitoring_summary
from scoring_model.monitoring.drift import Property
from scoring_model.monitoring.gates import check_window_gates
from scoring_model.monitoring.report import headline
from scoring_model.monitoring.result import promise_bases


@pytest.fixture(scope="module")
def written(watched: Monitoring, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The report of the window."""
    path = tmp_path_factory.mktemp("report") / "drift.html"
    watched.report(path)
    return path


def test_the_page_holds_every_part(watched: Monitoring, written: Path, tmp_path: Path) -> None:
    """Drift with its limit, promises and their basis, rates, estimates and matured labels; the same text again."""
    page = Page.of(written.read_text(encoding="utf-8"))
    assert page.addresses == ["data:,"]
    assert {"drift", "estimates", "matured", "provenance"} <= set(page.ids)
    assert len(page.drawings) == 3
    assert all(page.drawings)
    assert "would have been seen with a probability of 80 %" in page.text
    assert watched.drift.subjects[0].name in page.text
    assert "95 % confidence sequence" in page.text
    watched.report(tmp_path / "again.html")
    assert (tmp_path / "again.html").read_bytes() == written.read_bytes()


def test_what_is_missing_says_why(watched: Monitoring, tmp_path: Path) -> None:
    """Without limits, periods and labels there are no drawings of them, but reasons."""
    blind = replace(
        watched,
        matured=None,
        drift=replace(watched.drift, limits={}, contributors=()),
        estimates=replace(watched.estimates, overall={}, periods=(), reason="Too few frauds."),
    )
    blind.report(tmp_path / "blind.html")
    page = Page.of((tmp_path / "blind.html").read_text(encoding="utf-8"))
    assert page.drawings == []
    assert page.text.count("Not drawn.") == 3
    assert "Can’t know. Too few frauds." in page.text
    with pytest.raises(NothingToDraw):
        blind.plot.drift()
    with pytest.raises(NothingToDraw):
        blind.plot.contributors()
    with pytest.raises(NothingToDraw):
        blind.plot.estimated("step_up")


def test_the_summary_names_the_same(watched: Monitoring) -> None:
    """On a terminal: the largest statistic, both promises, the share that is immature."""
    text = monitoring_summary(watched)
    assert f"| {watched.drift.subjects[0].name} |" in text
    assert text.count("at most") >= 2
    assert watched.maturity.describe() in text
    assert all(note in text for note in watched.notes)


async def _look(path: Path) -> tuple[list[str], dict[str, Any]]:
    complaints: list[str] = []
    found: dict[str, Any] = {}
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=browser_path(), args=["--no-sandbox"])
        for width in (1280, 360):
            page = await browser.new_page(viewport={"width": width, "height": 800})
            note_complaints(page, complaints)
            await page.goto(path.as_uri())
            found[str(width)] = await page.evaluate(
                "({overflow: document.documentElement.scrollWidth - innerWidth, cards: "
                "document.querySelectorAll('.card').length, least: "
                "Math.min(...[...document.querySelectorAll('svg')].map(one => one.getBoundingClientRect().width))})"
            )
        await browser.close()
    return complaints, found


@pytest.mark.browser
def test_a_browser_shows_it_on_a_desk_and_a_phone(watched: Monitoring, written: Path) -> None:
    """No complaint and no scrolling to the side; every promise has a card."""
    complaints, found = asyncio.run(_look(written))
    assert complaints == []
    for seen in found.values():
        assert seen["overflow"] <= 0
        assert seen["cards"] == len(watched.promises) + len(watched.early)
        assert seen["least"] > 250


REFUTED = (
    "More frauds than assumed: 46.00% (41.00% to 51.00%) of 400 matured records are known frauds; it was "
)


def refuted(
    watched: Monitoring, *, value: float = 0.46, low: float | None = 0.41, contradicted: bool = False
) -> Monitoring:
    """A window in which 46 % of the matured records are frauds; of few rings there is no interval."""
    share = Estimate(value=value, low=low, high=None if low is None else 0.51, records=400, count=184)
    prevalence = replace(watched.prevalence, matured=share, cap=0.1, contradicted=contradicted)
    return replace(watched, prevalence=prevalence)


def test_a_weighted_share_is_not_called_one_of_the_records(watched: Monitoring) -> None:
    """With a control group 25 frauds of 1,237 records may be 4 % of all applicants, and the sentence says so."""
    share = Estimate(value=0.0414, low=0.0201, high=0.0835, records=1_237, count=25)
    said = str(replace(watched.prevalence, matured=share, contradicted=False))
    assert said.startswith(
        "4.14% (2.01% to 8.35%) of all are frauds, by 25 known ones of 1,237 matured records, weighted; it was "
    )
    assert " of 1,000 matured records are known frauds; it was " in str(
        replace(watched.prevalence, matured=replace(share, value=0.025, records=1_000))
    )


def test_a_refuted_share_of_frauds_is_the_headline(watched: Monitoring) -> None:
    """It comes first, beside the reference; what rests on the assumed share is judged neither here nor by a gate."""
    found = refuted(watched)
    assert headline(found).startswith(REFUTED)
    page = monitoring_summary(found)
    assert page.index(REFUTED) < page.index("Drift")
    assert page.count("46.00% (41.00% to 51.00%)") == 1
    assert headline(found).endswith(
        "Promises about frauds, and verdicts before labels, rest on nothing then."
    )
    assert page.count("Matured labels refute the assumed share of frauds.") == len(found.early) > 0
    assert "of them are frauds" not in page
    assert "of them are frauds" in monitoring_summary(watched)
    settings = GateSettings(gates={"early": EarlyGate(early="all")})
    (gate,) = check_window_gates(settings, found).results
    assert (gate.verdict.value, gate.detail) == (
        "not_enough_data",
        "matured labels refute the assumed share of frauds",
    )
    assert check_window_gates(settings, watched).results[0].verdict.value != "not_enough_data"
    assert headline(refuted(watched, low=0.05)) == headline(watched)
    assert not refuted(watched, low=None, value=0.09).prevalence.refuted
    assert headline(refuted(watched, low=None)).startswith(
        "More frauds than assumed: 46.00% of 400 matured records"
    )


def test_contradicting_labels_are_the_headline(watched: Monitoring) -> None:
    """So no promise about frauds rests on anything, while those to genuine applicants may."""
    found = refuted(watched, low=0.05, contradicted=True)
    assert headline(found).startswith(
        "Matured labels contradict the probabilities of the model: 46.00% (5.00% to"
    )
    policy = Policy(
        step_up_from=400,
        fail_from=700,
        promises=tuple(
            Promise(bound=bound, limit=0.5, delta=0.05, observed=0.1, records=1000, p_value=0.01)
            for bound in ("max_step_up", "max_missed_fraud")
        ),
    )
    for one in (found, refuted(watched)):
        bases = {base.bound: base for base in promise_bases(policy, one.drift, frozenset(), one.prevalence)}
        assert (bases["max_missed_fraud"].rests, bases["max_missed_fraud"].reason) == (
            False,
            one.prevalence.problem,
        )
        assert bases["max_step_up"].reason != one.prevalence.problem
        if one.prevalence.refuted:
            assert bases["max_step_up"].rests is None
            assert "say little about those of genuine applicants" in bases["max_step_up"].reason


def test_what_moved_stands_beside_its_limit_and_in_words(watched: Monitoring) -> None:
    """Subjects are sorted by limits that the page shows; a code has its word, or no word is said of it."""
    first = watched.drift.subjects[0]
    assert f"{first.statistic:.2f} | {first.limit:.2f} |" in monitoring_summary(watched)
    code = Property(subject="document_type", kind="code", value=1.0)
    assert code.describe(("PASSPORT", "NATIONAL_ID")) == "NATIONAL_ID"
    assert code.describe(("PASSPORT",)) == "a category that the training lacks"
    assert code.describe() == "code 1"


def test_an_estimate_that_no_label_has_tested_says_so(watched: Monitoring) -> None:
    """Beside the number; so does the share of frauds without a mature label."""
    untested = replace(watched, estimates=replace(watched.estimates, contradiction=None))
    assert watched.estimates.overall
    assert monitoring_summary(untested).count("(untested: no fraud is mature)") == len(
        watched.estimates.overall
    )
    assert "untested" not in monitoring_summary(
        replace(watched, estimates=replace(watched.estimates, contradiction=0.5))
    )
    unknown = replace(watched, prevalence=replace(watched.prevalence, matured=None))
    assert "The share of frauds in the window can’t be known yet: no label is mature." in monitoring_summary(
        unknown
    )
