"""A real browser for tests of pages."""

import shutil

from playwright.async_api import Page

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")


def browser_path() -> str:
    """Path of the installed browser."""
    for name in BROWSERS:
        if path := shutil.which(name):
            return path
    raise AssertionError(
        "This test needs Chromium or Chrome on the PATH, such as Debian's: apt-get install chromium"
    )


def note_complaints(page: Page, heard: list[str]) -> None:
    """Collect errors of the page."""
    page.on("console", lambda message: heard.append(f"console: {message.text}"))
    page.on("pageerror", lambda error: heard.append(f"error: {error}"))
    page.on("requestfailed", lambda request: heard.append(f"failed: {request.url}"))
    page.on(
        "response", lambda answer: heard.append(f"{answer.status}: {answer.url}") if not answer.ok else None
    )
