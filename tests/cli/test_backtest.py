"""The command that backtests: its report, in a file and in a browser, and its output."""

import asyncio
import json
from pathlib import Path

import pytest
from playwright.async_api import async_playwright

from backtest_use import USE
from browsing import browser_path, note_complaints
from identity_use import write_configuration
from program import Captured, refused, run
from report_use import Page


@pytest.fixture(scope="module")
def use(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The configuration, with costs."""
    text = USE + "  costs: {fraud_loss: 500, step_up_cost: 2, reject_cost: 20, step_up_effectiveness: 0.8}\n"
    return write_configuration(tmp_path_factory.mktemp("backtest"), text)


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
def test_backtest_writes_a_report(capsys: Captured, small: Path, use: Path, tmp_path: Path) -> None:
    """One file that fits a phone; every figure is named and has its numbers; the output says the same."""
    report = tmp_path / "report.html"
    code, output, error = run(
        capsys, "backtest", small, "--config", use, "--folds", 2, "--report", report, "--threads", 1
    )
    assert code == 0, error
    assert "promises were broken" in output
    assert "The expected cost of an applicant changed by" in output
    assert f"report: {report}" in output
    page = Page.of(report.read_text(encoding="utf-8"))
    assert {"promises", "cadences", "ageing", "history", "families", "folds", "provenance"} <= set(page.ids)
    assert {link[1:] for link in page.links} <= set(page.ids)
    assert page.addresses == ["data:,"]
    assert output.splitlines()[0] in page.text
    folds = next(table for table in page.tables if table[0][0] == "As of")
    assert len(folds) == 1 + 2
    complaints, found = asyncio.run(_look(report))
    assert complaints == []
    assert found["overflow"] <= 0
    assert found["unnamed"] == 0
    assert found["drawings"] == found["tables"] >= 7


def test_wrong_arguments_are_refused(capsys: Captured, small: Path, use: Path, tmp_path: Path) -> None:
    """Cadences that do not exist, and periods that are too young, are named; nothing is left behind."""
    report = tmp_path / "report.html"
    arguments = ["backtest", small, "--config", use, "--report", report]
    assert "'1y'" in refused(capsys, *arguments, "--cadence", "1y")
    young = refused(capsys, *arguments, "--as-of", "2024-03-01", "--json")
    assert "no fold is possible" in young
    assert "as of 2024-02-01" in young
    assert list(tmp_path.iterdir()) == []
    assert run(capsys, *arguments[:-1], tmp_path / "absent" / "report.html")[0] == 2


def test_the_output_for_programs_is_json(capsys: Captured, small: Path, use: Path, tmp_path: Path) -> None:
    """Its keys are those of the typed result, instants are text."""
    report = tmp_path / "report.html"
    code, output, error = run(
        capsys, "backtest", small, "--config", use, "--folds", 1, "--report", report, "--threads", 1, "--json"
    )
    assert code == 0, error
    found = json.loads(output)
    assert (found["format"], found["unit"], found["window"]) == (1, "month", "expanding")
    assert found["folds"][0]["as_of"] == "2024-12-01T00:00:00.000000Z"
    assert found["folds"][0]["split"] == {"train": 0.6, "validation": 0.2}
    assert {one["verdict"] for one in found["promises"]} <= {"kept", "broken", "undecided"}
