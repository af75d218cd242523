"""A report in a real browser, on a desk, on a phone and on paper."""

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from playwright.async_api import async_playwright

from browsing import browser_path, note_complaints
from comparison_use import compared
from report_use import evaluated

DESK, PHONE = {"width": 1280, "height": 900}, {"width": 360, "height": 740}
PAPER = {"width": 688, "height": 1009}
"""A4 within the margins of the style sheet, in CSS pixels."""


async def _look(path: Path) -> tuple[list[str], list[str], dict[str, Any]]:
    """Open a page in both sizes and both palettes; return complaints, requests and measures."""
    complaints: list[str] = []
    requests: list[str] = []
    found: dict[str, Any] = {}
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=browser_path(), args=["--no-sandbox"])
        for name, size, scheme in (("desk", DESK, "light"), ("phone", PHONE, "dark")):
            page = await browser.new_page(viewport=size, color_scheme=scheme)  # type: ignore[arg-type]
            note_complaints(page, complaints)
            page.on("request", lambda request: requests.append(request.url))
            await page.goto(path.as_uri())
            for summary in await page.locator("summary").all():
                await summary.click()
            found[name] = await page.evaluate(
                """() => {
                    const all = selector => [...document.querySelectorAll(selector)];
                    return {
                        overflow: document.documentElement.scrollWidth - innerWidth,
                        background: getComputedStyle(document.body).backgroundColor,
                        drawings: all('svg').map(one => one.getBoundingClientRect().width),
                        unnamed: all('svg').filter(one => !one.getAttribute('aria-label')).length,
                        tables: all('figure table').map(one => one.getBoundingClientRect().height),
                    };
                }"""
            )
            found[name]["images"] = await page.get_by_role("img").count()
        page = await browser.new_page(viewport=PAPER)  # type: ignore[arg-type]
        await page.emulate_media(media="print")
        await page.goto(path.as_uri())
        found["paper"] = await page.evaluate(
            """() => {
                const all = selector => [...document.querySelectorAll(selector)];
                return {
                    cut: all('.scroll').filter(one => one.scrollWidth > one.clientWidth + 1).length,
                    drawings: all('svg').map(one => one.getBoundingClientRect().height),
                    unprinted: all('figure table').filter(one => !one.checkVisibility()).length,
                    high: all('figure:not(.large)').map(one => one.getBoundingClientRect().height),
                };
            }"""
        )
        await browser.close()
    return complaints, requests, found


@pytest.mark.browser
@pytest.mark.parametrize(
    ("make", "drawings"),
    [
        pytest.param(lambda path: evaluated(limits={"max_step_up": 0.2}).report(path), 7, id="evaluation"),
        pytest.param(lambda path: compared().report(path), 6, id="comparison"),
    ],
)
def test_the_page_fits_a_desk_a_phone_and_paper(
    make: Callable[[Path], None], drawings: int, tmp_path: Path
) -> None:
    """No complaint, no request, no scrolling to the side; every drawing is named and its table opens.

    On paper every table is printed whole, and every drawing, beside its table where it is small, fits a page.
    """
    path = tmp_path / "report.html"
    make(path)
    complaints, requests, found = asyncio.run(_look(path))
    assert complaints == []
    assert {url.partition(":")[0] for url in requests} <= {"file", "data"}
    assert [url for url in requests if url.startswith("file:")] == [path.as_uri()] * 2
    for name, width in (("desk", 400), ("phone", 300)):
        seen = found[name]
        assert seen["overflow"] <= 0
        assert seen["unnamed"] == 0
        assert seen["images"] >= len(seen["drawings"]) >= drawings
        assert min(seen["drawings"]) > width
        assert min(seen["tables"]) > 20
    assert found["desk"]["background"] != found["phone"]["background"]
    paper = found["paper"]
    assert (paper["cut"], paper["unprinted"]) == (0, 0)
    assert max(*paper["drawings"], *paper["high"]) < PAPER["height"]
