"""The command `demo`: from nothing to a report and a service that decides, on invented people."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import webbrowser
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from scoring_model.cli import console
from scoring_model.cli.groups import Group, in_group

if TYPE_CHECKING:
    from scoring_model.client import Verification

PROGRAM: Final = (sys.executable, "-c", "import sys; from scoring_model.cli import main; sys.exit(main())")
SERVICE: Final = (
    sys.executable,
    "-c",
    "from scoring_model.cli.demo import serve_for_parent; serve_for_parent()",
)
SIGN_UPS: Final = 200
MONTHS: Final = 24
GRACE: Final = 15
"""Seconds that the service has to stop before it is killed."""

RECIPE: Final = """\
name: demo
signals:
  channel: {type: category, title: channel}
  deviceId: {type: identifier}
  emailAgeDays: {type: number, title: email age}
  emailDomain: {type: category, title: email domain}
  formSeconds: {type: number, title: time in the form}
  ipCountry: {type: category, differs_from: address.country, title: country of the network}
  sex: {type: category, protected: sex}
  vpn: {type: boolean}
links:
  keys:
    person: []
    address: [address.line1, address.city, address.country]
    device: [signals.deviceId]
    image: [imageUrls]
training:
  tuned: {params: {learning_rate: 0.1, num_leaves: 15}, rounds: 120} # instead of a search
policy: {max_false_reject: 0.005, max_step_up: 0.1}
"""


@in_group(Group.SERVICE)
def demo(
    folder: Annotated[
        Path, typer.Option(help="Folder to work in; what is there already is used again.")
    ] = Path("demo"),
    records: Annotated[int, typer.Option(min=1, help="Number of invented records.")] = 60_000,
    port: Annotated[
        int, typer.Option(min=0, max=65_535, help="Port of the service; 0 takes a free one.")
    ] = 0,
    opened: Annotated[
        bool, typer.Option("--open/--no-open", help="Open the report in a browser where there is a display.")
    ] = True,
) -> None:
    """Show everything once: invent records, train, report, and serve a stream of sign-ups with a ring among them.

    Nobody in it is real. Serves until Ctrl-C, which leaves nothing running. To begin anew, remove the folder.
    """
    if any(find_spec(module) is None for module in ("lightgbm", "uvicorn")):
        raise ValueError("the demonstration trains and serves: pip install 'scoring-model[all]'")
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    folder.mkdir(parents=True, exist_ok=True)
    bundle, report = folder / "bundle", folder / "bundle.training" / "report.html"
    past, config = folder / "past.parquet", folder / "demo.yaml"
    if not past.exists():
        _invent(folder, records)
    if not bundle.exists():
        config.write_text(RECIPE, encoding="utf-8")
        console.report("training")
        # One thread is also fast where others work.
        _run("train", past, "--config", config, "--out", bundle, "--threads", 1)
    console.report(f"the report: {report}")
    if opened and _has_display():
        webbrowser.open(report.resolve().as_uri())
    with _served(folder, port) as (url, process):
        client_id, key = _prepare(folder)
        console.report(f"{SIGN_UPS} people sign up, and among them a ring that shares a device")
        device, ring = _stream(folder, url, client_id, key)
        for line in _four_things(report, url, folder, client_id, key, device, ring).splitlines():
            console.say(line)
        process.wait()


def _run(*words: object) -> str:
    """Run a command of the program to its end; its progress is shown."""
    done = subprocess.run([*PROGRAM, *map(str, words)], stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode:
        raise typer.Exit(done.returncode)
    return done.stdout


def _invent(folder: Path, records: int) -> None:
    """Write a past that ends now without its largest ring, the people who come next, and the ring."""
    import pyarrow.compute as pc
    import pyarrow.parquet as pq

    from scoring_model.synthetic.cut import cut

    now = datetime.now(UTC)
    everything = folder / "all.parquet"
    start = (now - timedelta(days=30 * MONTHS)).date()
    _run("synth", everything, "--records", records, "--start", start, "--months", MONTHS)
    past, later = cut(pq.read_table(everything), now)
    devices = pc.value_counts(past.filter(pc.equal(past["label"], "fraud"))["signals.deviceId"].drop_null())
    device = max(devices.to_pylist(), key=lambda one: int(one["counts"]))["values"]
    is_ring = pc.fill_null(pc.equal(past["signals.deviceId"], device), False)
    pq.write_table(past.filter(is_ring), folder / "ring.parquet")
    pq.write_table(later.slice(0, SIGN_UPS), folder / "next.parquet")
    pq.write_table(past.filter(pc.invert(is_ring)), folder / "past.parquet")


def _has_display() -> bool:
    return sys.platform in ("darwin", "win32") or bool({"DISPLAY", "WAYLAND_DISPLAY"} & os.environ.keys())


@contextmanager
def _served(folder: Path, port: int) -> Iterator[tuple[str, subprocess.Popen[str]]]:
    """Serve the bundle; give the base URL and the process, which has ended afterwards."""
    words = [
        "serve",
        "--bundle",
        str(folder / "bundle"),
        "--database",
        _database(folder),
        "--port",
        str(port),
    ]
    with (
        (folder / "serve.log").open("wb") as log,
        subprocess.Popen(
            [*SERVICE, *words], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, text=True
        ) as process,
    ):
        try:
            url = process.stdout.readline().strip() if process.stdout is not None else ""
            if not url:
                raise ValueError(f"the service did not start: {folder / 'serve.log'} says why")
            yield url, process
        finally:
            process.terminate()
            try:
                process.wait(GRACE)
            except subprocess.TimeoutExpired:
                process.kill()


def serve_for_parent() -> None:
    """Run the program until it ends, or until the process that started it is gone: then its pipe is closed."""
    from scoring_model.cli import main

    threading.Thread(target=_stop_with_parent, daemon=True).start()
    sys.exit(main())


def _stop_with_parent() -> None:
    os.read(0, 1)
    os.kill(os.getpid(), signal.SIGTERM)


def _database(folder: Path) -> str:
    return f"sqlite:///{folder}/demo.db"


def _prepare(folder: Path) -> tuple[str, str]:
    """Create a client with the past as its history; return its identifier and key."""
    database = ["--database", _database(folder)]
    made = json.loads(_run("clients", "create", "demo", *database, "--json"))
    console.report("importing the past of the client")
    words = ["--client", made["clientId"], "--bundle", folder / "bundle", "--finish"]
    _run("history", "import", folder / "past.parquet", *database, *words)
    return made["clientId"], made["apiKey"]


def _stream(folder: Path, url: str, client_id: str, key: str) -> tuple[str, list[Verification]]:
    """Let people sign up one after the other; return the device of the ring and its verifications."""
    import pyarrow.parquet as pq

    from scoring_model.client import Client
    from scoring_model.synthetic.sign_ups import sign_up

    people, ring = (pq.read_table(folder / f"{name}.parquet").to_pylist() for name in ("next", "ring"))
    every = max(len(people) // len(ring), 1)
    found: list[Verification] = []
    with (
        Client(url, client_id=client_id, api_key=key) as client,
        console.progress("sign-ups", len(people)) as progress,
    ):
        for number, person in enumerate(people, start=1):
            sign_up(client, person)
            if number % every == 0 and len(found) < len(ring):
                found.append(sign_up(client, ring[len(found)]))
            progress(number)
    return ring[0]["signals.deviceId"], found


def _four_things(
    report: Path, url: str, folder: Path, client_id: str, key: str, device: str, ring: list[Verification]
) -> str:
    """Say what there is to look at."""
    members = "\n".join(
        f"     {one.scoring_outcome:<10} {one.scoring_score:>4}  {' '.join(why.code for why in one.reason_codes or ())}"
        for one in ring
    )
    database = _database(folder)
    return f"""
Four things to look at. Nobody in them is real.
  1. The report of the training, in a browser: {report}
  2. The ring, which the model was not trained on, in the order in which its members signed up:
{members}
     scoring-model verifications show {ring[-1].id} --database {database}
     To stop everyone on its device, at once and without a new model:
     echo {device} | scoring-model lists add ring --key device --action fail --values - --client {client_id} \\
       --database {database}
  3. The interface, and a request of your own, from that device: {url}/docs
     curl -s {url}/scoring/v1/verifications -H 'x-client-id: {client_id}' -H 'x-api-key: {key}' \\
       -H 'Content-Type: application/json' -d '{{"signals": {{"deviceId": "{device}", "vpn": true}}}}'
  4. Who waits for more than a score: scoring-model verifications list --unresolved --database {database}
Ctrl-C stops the service."""
