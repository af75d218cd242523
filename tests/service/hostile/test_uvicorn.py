"""The members of uvicorn on which the HTTP protocol builds are unchanged."""

import hashlib
import inspect
import tomllib
from pathlib import Path
from typing import Final

import pytest
import uvicorn
from uvicorn.protocols.http import flow_control, httptools_impl

ROOT: Final = Path(__file__).parents[3]
DIGESTS: Final[dict[str, str]] = {
    "httptools_impl.STATUS_LINE": "d2c156381de6",
    "httptools_impl.HttpToolsProtocol.__init__": "4f0899941034",
    "httptools_impl.HttpToolsProtocol.connection_made": "6efb565ff3d3",
    "httptools_impl.HttpToolsProtocol.connection_lost": "c91a4c9bf2e2",
    "httptools_impl.HttpToolsProtocol.eof_received": "5652627579a0",
    "httptools_impl.HttpToolsProtocol._unset_keepalive_if_required": "00a6a4e47214",
    "httptools_impl.HttpToolsProtocol.on_message_begin": "96d377fdc7c2",
    "httptools_impl.HttpToolsProtocol.on_url": "37be44e962b0",
    "httptools_impl.HttpToolsProtocol.on_header": "65d62c044f61",
    "httptools_impl.HttpToolsProtocol.on_headers_complete": "1ea8589acfad",
    "httptools_impl.HttpToolsProtocol._start_asgi_task": "9c08c2571ae9",
    "httptools_impl.HttpToolsProtocol.on_body": "dba9c32aeba3",
    "httptools_impl.HttpToolsProtocol.on_message_complete": "1fbad42dc31f",
    "httptools_impl.HttpToolsProtocol.on_response_complete": "64e254f28e38",
    "httptools_impl.HttpToolsProtocol.shutdown": "d7351fa33f00",
    "httptools_impl.HttpToolsProtocol.pause_writing": "17a8fd215d96",
    "httptools_impl.HttpToolsProtocol.resume_writing": "7844bbaa8cce",
    "httptools_impl.HttpToolsProtocol.timeout_keep_alive_handler": "8b53bf5f2e20",
    "httptools_impl.RequestResponseCycle": "e67d470d435d",
    "flow_control.FlowControl": "126debcdaa89",
}
"""Of the source of each member of uvicorn's private classes that `Protocol` uses.

When one fails, read what changed, adapt the protocol, and write the new digest.
"""


def digest(name: str) -> str:
    """The digest of the source of a member, of the text of its value where it has none."""
    module, *path = name.split(".")
    found: object = {"httptools_impl": httptools_impl, "flow_control": flow_control}[module]
    for part in path:
        found = getattr(found, part)
    is_code = inspect.isclass(found) or inspect.isfunction(found)
    # Of all lines one: reasons of others are those of the Python version.
    text = inspect.getsource(found) if is_code else repr(found[200])  # type: ignore[arg-type,index]
    return hashlib.sha256(text.encode()).hexdigest()[:12]


@pytest.mark.parametrize("name", DIGESTS)
def test_members_are_as_they_were(name: str) -> None:
    """Each member is there and has the source that the protocol was written against."""
    assert digest(name) == DIGESTS[name], f"{name} changed in uvicorn {uvicorn.__version__}"


def test_the_minor_version_is_pinned() -> None:
    """The requirements pin the minor version of uvicorn."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    major, minor, _ = uvicorn.__version__.split(".")
    pinned = f"uvicorn>={uvicorn.__version__},<{major}.{int(minor) + 1}"
    assert pinned in project["optional-dependencies"]["serve"]
