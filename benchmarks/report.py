"""Size of a report, the time to make it, and the time until a browser shows it.

    python benchmarks/report.py BUNDLE FILE

evaluates labelled records, checks that the report shows their number, makes the report three times, and opens it in
Chromium on a desk and on a phone, each five times. Opening ends when the page is painted. Ends with 1 if the report
has more than 3 MB or takes 2 seconds to open.
"""

import asyncio
import shutil
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import Final

from playwright.async_api import async_playwright
from shared.judging import arguments

from scoring_model.evaluation import evaluate

SIZES: Final = {"desk": (1280, 900), "phone": (360, 740)}
PAINTED: Final = "() => performance.getEntriesByName('first-contentful-paint')[0]?.startTime"
MOST_BYTES: Final = 3_000_000
MOST_SECONDS: Final = 2.0


async def open_times(path: Path, *, repeats: int = 5) -> dict[str, list[float]]:
    """Return seconds from the start of navigation until the page is loaded and painted, by size."""
    found: dict[str, list[float]] = {name: [] for name in SIZES}
    browser_path = shutil.which("chromium") or shutil.which("google-chrome")
    async with async_playwright() as playwright:
        for _ in range(repeats):
            for name, (width, height) in SIZES.items():
                browser = await playwright.chromium.launch(
                    executable_path=browser_path, args=["--no-sandbox"]
                )
                page = await browser.new_page(viewport={"width": width, "height": height})
                await page.route("http*://**", lambda route: route.abort())  # offline
                start = time.perf_counter()
                await page.goto(path.as_uri())
                await page.wait_for_function(PAINTED)
                found[name].append(time.perf_counter() - start)
                await browser.close()
    return found


def main() -> int:
    """Measure and print."""
    parser = arguments(__doc__)
    parser.add_argument("bundle", type=Path)
    parser.add_argument("file", type=Path)
    given = parser.parse_args()
    evaluation = evaluate(given.bundle, given.file)
    assert evaluation.importance is not None  # computed here, not in the time of the report
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "report.html"
        made = []
        for _ in range(3):
            start = time.perf_counter()
            evaluation.report(path)
            made.append(time.perf_counter() - start)
        assert f"{evaluation.overall.records:,} records" in path.read_text(encoding="utf-8")
        opened = asyncio.run(open_times(path))
        size = path.stat().st_size
    print(
        f"{evaluation.overall.records:,} records: {size / 1e6:.2f} MB, made in {statistics.median(made):.2f} s"
    )
    for name, seconds in opened.items():
        print(f"opens on a {name} in {statistics.median(seconds):.2f} s, at most {max(seconds):.2f} s")
    return int(size > MOST_BYTES or max(map(max, opened.values())) >= MOST_SECONDS)


if __name__ == "__main__":
    sys.exit(main())
