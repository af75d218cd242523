"""The public interface of the clients: both alike, light, and without code of the model."""

import inspect
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import scoring_model.client as package
from scoring_model.client import AsyncClient, Client

GROUPS = ("Identities", "Verifications", "Webhooks", "Labels", "Health")
OURS = ("scoring_model.client", "scoring_model.contract")
FOLDER = Path(package.__file__).parent
LOADS = "import json, sys, scoring_model.client\nprint(json.dumps(sorted(sys.modules)))"


def methods(kind: type) -> dict[str, Callable[..., object]]:
    """The public methods of a class, by name."""
    return {name: method for name, method in vars(kind).items() if not name.startswith("_")}


OPERATIONS = [(group, name) for group in GROUPS for name in methods(getattr(package, group))]


@pytest.mark.parametrize(("group", "name"), OPERATIONS)
def test_both_clients_are_of_one_mould(group: str, name: str) -> None:
    """The same names, parameters and words; one awaits, the other does not."""
    blocking = methods(getattr(package, group))[name]
    awaited = methods(getattr(package, f"Async{group}"))[name]
    assert inspect.signature(blocking) == inspect.signature(awaited)
    assert inspect.getdoc(blocking) == inspect.getdoc(awaited)
    assert inspect.getdoc(blocking)
    waits = inspect.isasyncgenfunction if name in ("list", "deliveries") else inspect.iscoroutinefunction
    assert waits(awaited)
    assert not waits(blocking)


def test_both_clients_are_opened_alike() -> None:
    """The same options under the same names."""
    assert list(inspect.signature(Client).parameters) == list(inspect.signature(AsyncClient).parameters)


def test_importing_it_brings_no_model() -> None:
    """In a fresh interpreter: neither the model, nor the service, nor a numerical library."""
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", LOADS], capture_output=True, text=True, check=True
    )
    loaded = set(json.loads(done.stdout))
    ours = {name for name in loaded if name.startswith("scoring_model.")}
    assert all(name.startswith(OURS) for name in ours)
    assert {name.partition(".")[0] for name in loaded}.isdisjoint(
        [
            "numpy",
            "onnxruntime",
            "numba",
            "pyarrow",
            "pandas",
            "starlette",
            "uvicorn",
            "sqlalchemy",
            "cryptography",
            "yaml",
        ]
    )


def test_clients_close_their_connections() -> None:
    """After a `with` block a client is closed, also when the block fails."""
    with pytest.raises(KeyError), Client("http://127.0.0.1:1", client_id="a", api_key="b") as client:
        raise KeyError
    with pytest.raises(RuntimeError, match="closed"):
        client.identities.get("x")
