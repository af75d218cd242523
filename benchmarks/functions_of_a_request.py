"""Count the functions of the project that one `POST /verifications` calls, from the socket to the answer.

Run as ``python benchmarks/functions_of_a_request.py BUNDLE``. It does not count functions of other packages
and anonymous functions. The request brings signals and an idempotency key; the service runs on a new SQLite database.
"""

import asyncio
import json
import socket
import sys
import tempfile
import threading
import time
from pathlib import Path
from types import CodeType, FrameType
from typing import Any, Final

import scoring_model
from scoring_model.service.clients import Permission, create_client
from scoring_model.service.core.clock import SystemClock
from scoring_model.service.http import HttpSettings, create_app
from scoring_model.service.http.server import run
from scoring_model.service.keys.keyring import KeyEncryptionKey, Keyring
from scoring_model.service.service import open_service
from scoring_model.service.store import migrate, open_store

PROJECT: Final = str(Path(scoring_model.__file__).parent)
PATH: Final = "/scoring/v1/verifications"
BODY: Final = json.dumps({"signals": {"deviceId": "d", "vpn": True}, "subjectId": "s"})


class Recorder:
    """Records the functions of the project that are called while it is active."""

    def __init__(self) -> None:
        self.on = False
        self.seen: set[CodeType] = set()

    def __call__(self, frame: FrameType, event: str, _argument: Any) -> None:
        """See `sys.setprofile`."""
        code = frame.f_code
        if self.on and event == "call" and code.co_filename.startswith(PROJECT) and code.co_name[0] != "<":
            self.seen.add(code)


async def _post(port: int, headers: dict[str, str]) -> bytes:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    lines = [f"POST {PATH} HTTP/1.1", *(f"{name}: {value}" for name, value in headers.items())]
    writer.write("\r\n".join([*lines, f"content-length: {len(BODY)}", "", BODY]).encode())
    answer = await reader.read()
    writer.close()
    return answer


async def _record(bundle: Path, url: str, recorder: Recorder) -> None:
    store = await open_store(url)
    now = time.time_ns() // 1000
    client = await create_client(store, name="one", permissions=frozenset(Permission), now=now)
    keyring = Keyring(KeyEncryptionKey(bytes(32)))
    service = await open_service(
        store, bundle=bundle, keyring=lambda: keyring, clock=SystemClock(), background=False
    )
    settings = HttpSettings(access_log=True)
    app = create_app(service, settings, clock=SystemClock())
    listener = socket.create_server(("127.0.0.1", 0))
    server = asyncio.create_task(
        run(app, settings, sockets=[listener], close=service.close, grace_seconds=1.0)
    )
    headers = {
        "host": "127.0.0.1",
        "content-type": "application/json",
        "connection": "close",
        "x-client-id": client.client_id,
        "x-api-key": client.api_key,
    }
    for number in range(3):  # the first requests do one-time work, such as reading credentials
        recorder.on = number == 2
        answer = await _post(listener.getsockname()[1], {**headers, "idempotency-key": str(number)})
        recorder.on = False
        if not answer.startswith(b"HTTP/1.1 201"):
            raise SystemExit(f"the answer is {answer[:400]!r}")
    server.cancel()
    await asyncio.gather(server, return_exceptions=True)
    await store.close()


def main() -> None:
    """Print the number of functions, and their names by file."""
    recorder = Recorder()
    threading.setprofile(recorder)
    with tempfile.TemporaryDirectory() as folder:
        url = f"sqlite:///{folder}/scoring.db"
        asyncio.run(migrate(url))
        sys.setprofile(recorder)
        asyncio.run(_record(Path(sys.argv[1]), url, recorder))
        sys.setprofile(None)
    names: dict[str, list[str]] = {}
    for code in recorder.seen:
        names.setdefault(code.co_filename.removeprefix(PROJECT), []).append(code.co_qualname)
    for file, found in sorted(names.items()):
        print(f"{file}: {', '.join(sorted(found))}")
    print(f"{len(recorder.seen)} functions in {len(names)} files")


if __name__ == "__main__":
    main()
