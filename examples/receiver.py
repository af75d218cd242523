"""A receiver of events: verifies the sender, stores each event once, answers immediately, and handles it later.

Needs Python and ``scoring_model.client``. Copy it and write your own `handle`:

    WEBHOOK_SECRETS="whsec_..." python receiver.py --port 8080 --inbox events.db

It speaks plain HTTP: put a TLS-terminating proxy in front of it. During a rotation of the secret give both, separated
by a space.
"""

from __future__ import annotations

import argparse
import json
import os
import sqlite3
import sys
import threading
from collections.abc import Callable
from contextlib import closing, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from scoring_model.client import InvalidWebhook, verify_webhook

MOST_BODY = 65_536  # bytes; events are a few hundred
KEPT_DAYS = 90  # a delivery may be sent again by hand for as long as the service keeps it, which is 30 days
RETRY_SECONDS = 60.0  # delay before an event is retried after `handle` failed


def handle(event: dict[str, Any]) -> None:
    """Handle an event. Runs after the answer, one event at a time.

    After a crash the last event may be handled again: make this idempotent.

    Parameters
    ----------
    event : dict
        ``type``, ``timestamp`` and ``data``: what happened, and to which resource; read the rest from the service.
        Events may arrive out of order; ``data["sequence"]`` gives their order.
    """
    print(event["type"], event["data"].get("id"), flush=True)


class Inbox:
    """Accepted deliveries in a file, so that none is lost or accepted twice.

    Parameters
    ----------
    path : str
        Of an SQLite database.
    """

    def __init__(self, path: str) -> None:
        self._lock = threading.Lock()
        self._database = sqlite3.connect(path, check_same_thread=False, isolation_level=None)
        self._database.execute("PRAGMA journal_mode = WAL")
        self._database.execute(
            "CREATE TABLE IF NOT EXISTS delivery (id TEXT PRIMARY KEY, body BLOB NOT NULL,"
            " came_at INTEGER NOT NULL DEFAULT (unixepoch()), done INTEGER NOT NULL DEFAULT 0)"
        )

    def take(self, delivery: str, body: bytes) -> bool:
        """Store a delivery; return False if it is a repetition."""
        with self._lock:
            cursor = self._database.execute(
                "INSERT INTO delivery (id, body) VALUES (?, ?) ON CONFLICT DO NOTHING", (delivery, body)
            )
            return cursor.rowcount == 1

    def waiting(self) -> list[tuple[str, bytes]]:
        """Return accepted deliveries that are not yet handled, oldest first."""
        with self._lock:
            return self._database.execute(
                "SELECT id, body FROM delivery WHERE NOT done ORDER BY came_at, rowid LIMIT 1000"
            ).fetchall()

    def finish(self, delivery: str) -> None:
        """Mark a delivery as handled, and delete old ones."""
        with self._lock:
            self._database.execute("UPDATE delivery SET done = 1 WHERE id = ?", (delivery,))
            self._database.execute(
                "DELETE FROM delivery WHERE done AND came_at < unixepoch() - ?", (KEPT_DAYS * 86_400,)
            )

    def close(self) -> None:
        """Close the file once no thread uses it."""
        with self._lock:
            self._database.close()


class Receiver(ThreadingHTTPServer):
    """The server.

    Parameters
    ----------
    address : tuple of str and int
        Host and port to listen on; port 0 takes a free one.
    secrets : list of str
        ``whsec_...``, any of which may have signed.
    inbox : Inbox
    """

    daemon_threads = True
    request_queue_size = 128

    def __init__(self, address: tuple[str, int], secrets: list[str], inbox: Inbox) -> None:
        super().__init__(address, Exchange)
        self.secrets = secrets
        self.inbox = inbox
        self.came = threading.Event()
        self.stopping = threading.Event()

    def receive(self, body: bytes, headers: dict[str, str]) -> int:
        """Accept a delivery and return the status of the answer: 204 also for a repetition, so that retries end."""
        try:
            event = verify_webhook(body, headers, self.secrets)
        except InvalidWebhook:
            return 400
        try:
            if self.inbox.take(event.id, body):
                self.came.set()
        except sqlite3.Error:
            return 503  # it is sent again later
        return 204

    def work(self, handler: Callable[[dict[str, Any]], None]) -> None:
        """Handle accepted deliveries until `stop`."""
        while True:
            self.came.clear()
            if self.stopping.is_set():  # only now: what `stop` sets from here on ends the wait below
                return
            waiting = self.inbox.waiting()
            failed = [delivery for delivery, body in waiting if not self._handled(delivery, body, handler)]
            if not waiting or failed:
                self.came.wait(RETRY_SECONDS if failed else None)

    def _handled(self, delivery: str, body: bytes, handler: Callable[[dict[str, Any]], None]) -> bool:
        if self.stopping.is_set():
            return False
        try:
            handler(json.loads(body))
        except Exception as error:  # it must not hold up the others
            print(f"{delivery} failed: {type(error).__name__}", file=sys.stderr, flush=True)
            return False
        self.inbox.finish(delivery)
        return True

    def stop(self) -> None:
        """Let `work` end after the event that it is at."""
        self.stopping.set()
        self.came.set()


class Exchange(BaseHTTPRequestHandler):
    """One connection."""

    server: Receiver
    protocol_version = "HTTP/1.1"
    server_version = "receiver"
    sys_version = ""
    timeout = 10  # seconds of silence after which a connection is closed

    def do_POST(self) -> None:
        """Answer a delivery."""
        length = self.headers.get("Content-Length", "")
        if not (length.isascii() and length.isdecimal()):
            self._answer(411)
        elif len(length) > 9 or int(length) > MOST_BODY:
            self._answer(413)
        else:
            body = self.rfile.read(int(length))
            self._answer(self.server.receive(body, dict(self.headers)), body_read=True)

    def _answer(self, status: int, *, body_read: bool = False) -> None:
        self.send_response(status)
        if status != 204:
            self.send_header("Content-Length", "0")
        if not body_read:  # what follows would be read as the next request
            self.send_header("Connection", "close")
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - as the base class calls it
        """Say nothing: paths may hold secrets."""


def main() -> None:
    """Run until interrupted."""
    parser = argparse.ArgumentParser(description="Receive events of the scoring service.")
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=8080)
    parser.add_argument("--inbox", default="events.db", help="file of the events that were taken")
    options = parser.parse_args()
    secrets = os.environ.get("WEBHOOK_SECRETS", "").split()
    if not secrets:
        parser.error("WEBHOOK_SECRETS must hold the secret of the webhook")
    inbox = Inbox(options.inbox)
    with closing(inbox), Receiver((options.host, options.port), secrets, inbox) as receiver:
        print(f"listening on {options.host}:{receiver.server_port}", flush=True)
        worker = threading.Thread(target=receiver.work, args=(handle,))
        worker.start()
        with suppress(KeyboardInterrupt):
            receiver.serve_forever()
        receiver.stop()
        worker.join()


if __name__ == "__main__":
    main()
