"""The example of a receiver, run as its users run it, with deliveries that another library signed."""

import base64
import datetime
import http.client
import json
import os
import secrets
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
from standardwebhooks.webhooks import Webhook

EXAMPLE = Path(__file__).parents[3] / "examples" / "receiver.py"
SECRET = "whsec_" + base64.b64encode(secrets.token_bytes(32)).decode()
OLD_SECRET = "whsec_" + base64.b64encode(secrets.token_bytes(32)).decode()


@dataclass
class Running:
    """The example while it runs."""

    process: subprocess.Popen[str]
    port: int

    def post(self, headers: Mapping[str, str], body: bytes) -> int:
        """Give the status that a delivery is answered with."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=20)
        try:
            connection.request("POST", "/hook", body, dict(headers))
            return connection.getresponse().status
        finally:
            connection.close()

    def line(self) -> str:
        """Give the next line that it printed."""
        assert self.process.stdout is not None
        return self.process.stdout.readline().strip()


@contextmanager
def running(inbox: Path) -> Iterator[Running]:
    """Run the example, and interrupt it at the end unless it was killed."""
    environment = {**os.environ, "WEBHOOK_SECRETS": f"{OLD_SECRET} {SECRET}"}
    command = [sys.executable, str(EXAMPLE), "--port", "0", "--inbox", str(inbox)]
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            port = int(process.stdout.readline().rsplit(":", 1)[1])
            yield Running(process, port)
            if process.poll() is None:
                process.send_signal(signal.SIGINT)
                assert process.wait(20) == 0
        finally:
            process.kill()


def signed(
    delivery: str, *, secret: str = SECRET, age: int = 0, resource: str = "r1"
) -> tuple[dict[str, str], bytes]:
    """Headers and body of a delivery as the public library of Standard Webhooks signs it."""
    now = datetime.datetime.now(datetime.UTC)
    body = json.dumps(
        {
            "type": "verification.passed",
            "timestamp": now.isoformat(),
            "data": {"id": resource, "sequence": 1},
        }
    )
    at = now - datetime.timedelta(seconds=age)
    headers = {
        "webhook-id": delivery,
        "webhook-timestamp": str(int(at.timestamp())),
        "webhook-signature": Webhook(secret).sign(delivery, at, body),
    }
    return headers, body.encode()


def test_each_delivery_is_handled_once(tmp_path: Path) -> None:
    """A repeated delivery is answered with success but handled only once, also after a restart."""
    first, again, next_one = (signed(name, resource=name) for name in ("msg_1", "msg_1", "msg_2"))
    with running(tmp_path / "events.db") as receiver:
        assert [receiver.post(*first), receiver.post(*again)] == [204, 204]
        assert receiver.line() == "verification.passed msg_1"
    with running(tmp_path / "events.db") as receiver:
        assert [receiver.post(*again), receiver.post(*next_one)] == [204, 204]
        assert receiver.line() == "verification.passed msg_2"


def test_what_was_answered_survives_a_kill(tmp_path: Path) -> None:
    """Whatever was answered with success before kill -9 is handled, at the latest after the restart."""
    with running(tmp_path / "events.db") as receiver:
        for number in range(20):
            assert receiver.post(*signed(f"msg_{number}", resource=f"msg_{number}")) == 204
        receiver.process.kill()
        receiver.process.wait()
        assert receiver.process.stdout is not None
        handled = set(receiver.process.stdout.read().split("\n"))
    with running(tmp_path / "events.db") as receiver:
        assert receiver.post(*signed("last", resource="last")) == 204
        while (line := receiver.line()) != "verification.passed last":
            handled.add(line)
    assert {f"verification.passed msg_{number}" for number in range(20)} <= handled


@pytest.mark.parametrize("secret", [SECRET, OLD_SECRET], ids=["new", "old"])
def test_both_secrets_of_a_rotation_are_taken(secret: str, tmp_path: Path) -> None:
    """While a secret is replaced, signatures of both are accepted."""
    with running(tmp_path / "events.db") as receiver:
        assert receiver.post(*signed("msg_1", secret=secret)) == 204


def test_what_the_service_did_not_sign_is_refused(tmp_path: Path) -> None:
    """Forged, altered, old and endless deliveries are refused and not stored."""
    other = "whsec_" + base64.b64encode(bytes(32)).decode()
    headers, body = signed("msg_1")
    with running(tmp_path / "events.db") as receiver:
        assert receiver.post(*signed("msg_1", secret=other)) == 400
        assert receiver.post(headers, body.replace(b"passed", b"failed")) == 400
        assert receiver.post({**headers, "webhook-id": "msg_2"}, body) == 400
        assert receiver.post(*signed("msg_1", age=3600)) == 400
        assert receiver.post({}, body) == 400
        assert receiver.post({**headers, "Content-Length": "99999999999999999999"}, b"") == 413
        assert receiver.post({**headers, "Content-Length": "-1"}, b"") == 411
        assert receiver.post(headers, body) == 204
        assert receiver.line() == "verification.passed r1"


def test_a_receiver_needs_a_secret() -> None:
    """Without a secret nothing could be checked, so the example does not start."""
    ended = subprocess.run(
        [sys.executable, str(EXAMPLE)],
        env={**os.environ, "WEBHOOK_SECRETS": ""},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == 2
    assert "WEBHOOK_SECRETS" in ended.stderr
