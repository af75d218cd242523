"""The time until a browser shows a page."""

import shutil
import time
from pathlib import Path
from typing import Final

from playwright.async_api import async_playwright

SIZES: Final = {"desk": (1280, 900), "phone": (360, 740)}
_PAINTED: Final = "() => performance.getEntriesByName('first-contentful-paint')[0]?.startTime"


async def open_times(path: Path, *, repeats: int) -> dict[str, list[float]]:
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
                await page.wait_for_function(_PAINTED)
                found[name].append(time.perf_counter() - start)
                await browser.close()
    return found
