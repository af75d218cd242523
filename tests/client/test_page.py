"""The guide to the client runs."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

import scoring_model.client as package
from scoring_peer import API_KEY, CLIENT_ID, Peer

PAGE = (Path(__file__).parents[2] / "docs" / "client.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```python\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)


def run(peer: Peer, monkeypatch: pytest.MonkeyPatch) -> Mapping[str, Any]:
    """Run every example, one after the other; return the names that they leave."""
    for name, value in (("URL", peer.url), ("CLIENT_ID", CLIENT_ID), ("API_KEY", API_KEY)):
        monkeypatch.setenv(f"SCORING_{name}", value)
    names: dict[str, Any] = {"__name__": "guide"}
    for block in BLOCKS:
        exec(compile(block, "docs/client.md", "exec", dont_inherit=True), names)
    names["client"].close()
    return names


def test_every_example_runs(
    peer: Peer, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """In the order of the page, and they do what the page says."""
    names = run(peer, monkeypatch)
    printed = capsys.readouterr().out
    assert "STEPPED_UP 531\nADDRESS_FORM" in printed
    assert "404 not_found" in printed
    assert names["scores"] == [531, 531, 531]
    assert names["receive"](b"{}", {}, [names["secret"]], set()) == 400


def test_every_method_and_error_is_on_the_page() -> None:
    """The tables name all of them, and nothing that is not there."""
    with package.Client("http://127.0.0.1:1", client_id="c", api_key="k") as client:
        groups = {name: group for name, group in vars(client).items() if not name.startswith("_")}
    rows = dict(re.findall(r"^\| `client\.(\w+)` \| (.*) \|$", PAGE, re.MULTILINE))
    assert {name: set(re.findall(r"`(\w+)`", row)) for name, row in rows.items()} == {
        name: {method for method in vars(type(group)) if not method.startswith("_")}
        for name, group in groups.items()
    }
    errors = {
        name
        for name, thing in vars(package).items()
        if isinstance(thing, type) and issubclass(thing, Exception)
    }
    assert all(f"`{name}`" in PAGE or f" {name}" in PAGE for name in errors)
