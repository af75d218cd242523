"""The dashboard of a search, started as documented, in a real browser."""

import asyncio
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import optuna
import pytest
from playwright.async_api import async_playwright

from browsing import browser_path
from running_service import free_port
from scoring_model.training.journal import open_study


@pytest.fixture
def journal(tmp_path: Path) -> Path:
    """The journal of a running search: one trial is complete, one was pruned, one is running."""
    path = tmp_path / "tuning.journal"
    pruner = optuna.pruners.NopPruner()
    with open_study(path, fingerprint={"rows": "1"}, resume=False, pruner=pruner) as study:
        for value, state in ((0.625, None), (None, optuna.trial.TrialState.PRUNED)):
            trial = study.ask()
            trial.suggest_float("learning_rate", 0.02, 0.2, log=True)
            trial.report(0.5, 1)
            study.tell(trial, value, state=state)
        study.ask()
    return path


@contextmanager
def dashboard(journal: Path) -> Iterator[str]:
    """The address of the dashboard of this journal."""
    port = free_port()
    command = [str(Path(sys.executable).with_name("optuna-dashboard")), str(journal), "--port", str(port)]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        while True:
            assert process.poll() is None
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", port)) == 0:
                    break
            time.sleep(0.1)
        yield f"http://127.0.0.1:{port}"
    finally:
        process.terminate()
        process.wait()


@pytest.mark.browser
def test_the_dashboard_shows_a_running_search(journal: Path) -> None:
    """The page shows the study, its trials with their states and the best value, without internet access."""
    before = journal.read_bytes()
    hosts: set[str] = set()

    async def look(address: str) -> None:
        async with async_playwright() as playwright:
            browser = await playwright.chromium.launch(executable_path=browser_path(), args=["--no-sandbox"])
            page = await browser.new_page()
            page.on("request", lambda request: hosts.add(request.url.split("/")[2]))
            await page.goto(f"{address}/dashboard/studies/0/trials")
            for state in ("Complete", "Pruned", "Running"):
                await page.get_by_text(state, exact=True).first.wait_for()
            await page.get_by_text("0.625").first.wait_for()
            await page.get_by_text("learning_rate").first.wait_for()
            await browser.close()

    with dashboard(journal) as address:
        asyncio.run(look(address))
    assert hosts == {address.removeprefix("http://")}
    assert journal.read_bytes() == before
