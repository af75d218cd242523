"""The page of the API reference, in a real browser."""

import pytest
from playwright.async_api import Page, async_playwright

from browsing import browser_path, note_complaints
from fake_service import GOOD, HOOK, Client
from http_server import Running, serve
from scoring_model.service.http.application import OPERATIONS, POLICY


@pytest.mark.browser
def test_docs_show_every_operation_and_carry_one_out() -> None:
    """The page renders all operations from our own files alone, complains of nothing, and can be tried out."""
    heard: list[str] = []
    hosts: set[str] = set()

    async def use(server: Running) -> None:
        async with async_playwright() as playwright:
            browser = await playwright.chromium.launch(executable_path=browser_path(), args=["--no-sandbox"])
            page = await browser.new_page()
            note_complaints(page, heard)
            page.on("request", lambda request: hosts.add(request.url.split("/")[2]))
            await page.goto(f"http://127.0.0.1:{server.port}/docs")
            for operation in OPERATIONS:
                shown = page.locator(f".opblock-{operation.method.lower()}").filter(
                    has=page.locator(f'[data-path="{operation.path}"]')
                )
                await shown.wait_for()
            await page.locator(".models, .webhooks").first.wait_for()
            assert await _tried_out(page) == "200"
            await browser.close()
        assert hosts == {f"127.0.0.1:{server.port}"}
        assert heard == []

    serve(use)


async def _tried_out(page: Page) -> str:
    """Log in, list the webhooks, and give the status that the page shows."""
    await page.locator(".authorize").first.click()
    boxes = page.locator(".auth-container")
    for place, name in enumerate(("x-client-id", "x-api-key")):
        await boxes.nth(place).locator("input").fill(GOOD[name])
        await boxes.nth(place).locator("button.authorize").click()
    await page.locator(".btn-done").first.click()
    block = page.locator("#operations-Webhooks-listWebhooks")
    await block.locator(".opblock-summary-control").click()
    await block.locator(".try-out__btn").click()
    await block.locator(".execute").click()
    status = block.locator(".live-responses-table .response-col_status").last
    await status.wait_for()
    return (await status.inner_text()).strip()


def test_docs_forbid_whatever_is_not_theirs() -> None:
    """The policy of the page allows files of its own host alone, and nothing within the text."""
    answer = Client().ask("GET", "/docs", credentials=None)
    assert answer.headers["content-security-policy"] == POLICY
    assert "unsafe" not in POLICY
    assert "default-src 'none'" in POLICY
    assert "<style" not in answer.text
    assert "http" not in answer.text
    assert answer.text.count("<script src=") == answer.text.count("<script") == 2
    for name in ("swagger-ui.css", "swagger-ui-bundle.js", "start.js"):
        found = Client().ask("GET", f"/docs/{name}", credentials=None)
        assert found.status_code == 200
        assert found.headers["x-content-type-options"] == "nosniff"
    assert Client().ask("GET", "/docs/../pyproject.toml", credentials=None).status_code == 404
    assert Client().ask("POST", "/docs", credentials=None, json=HOOK).status_code == 405
