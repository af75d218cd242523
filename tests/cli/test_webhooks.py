"""Commands on deliveries, and the deliverer alone, on a real SQLite database."""

import json
import shutil
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import pytest

import program
from program import Captured
from running_service import PROGRAM, SECONDS, free_port, until
from scoring_model.contract.event import EventType
from scoring_model.contract.texts import to_text
from scoring_model.service.events.events import NewEvent, message_id, webhook_data, write_events
from scoring_model.service.events.webhooks import new_secret
from scoring_model.service.keys.keyring import add_master_key, load_master_keys
from scoring_model.service.keys.secrets import load_or_create
from scoring_model.service.store import Store
from scraping import scraped, value
from store_story import run_story, write_to
from stored_rows import delivery_row, event_row, new_id, webhook_row
from webhook_receiver import receiving

URL: Final = "sqlite:///scoring.db"
ONE: Final = 1  # the number of the first client of a database


@pytest.fixture
def client(migrated: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Captured) -> str:
    """The id of a client of a new database in the working directory."""
    monkeypatch.chdir(tmp_path)
    shutil.copy(migrated, tmp_path)
    add_master_key(tmp_path / "scoring.db.key")
    return str(json.loads(done(capsys, "clients", "create", "Shop"))["clientId"])


def run(capsys: Captured, *words: object) -> tuple[int, str, str]:
    """Run a command on the database: exit code, standard output, standard error."""
    return program.run(capsys, *words, "--database", URL)


def done(capsys: Captured, *words: object) -> str:
    """JSON output of a command that must succeed."""
    code, said, error = run(capsys, *words, "--json")
    assert code == 0, error
    return said


def refused(capsys: Captured, *words: object) -> str:
    """Error of a command that must fail on its input."""
    return program.refused(capsys, *words, "--database", URL)


def listed(capsys: Captured, *words: object) -> list[dict[str, Any]]:
    """Deliveries as a command lists them."""
    found: list[dict[str, Any]] = json.loads(done(capsys, "webhooks", *words))
    return found


def ids(lines: list[dict[str, Any]]) -> list[bytes]:
    """The ids of deliveries that were listed."""
    return [bytes.fromhex(line["id"].removeprefix("msg_")) for line in lines]


def test_deliveries_are_listed_by_what_is_asked_for(capsys: Captured, client: str) -> None:
    """By status, webhook and client, the oldest first, a page at a time; without the destination."""
    other = json.loads(done(capsys, "clients", "create", "Other"))["clientId"]
    hooks = [webhook_row(client=number, destination_url="https://h/?key=s3cret") for number in (1, 2)]
    events = [event_row(client=number, waiting=0) for number in (1, 1, 2)]
    states: list[dict[str, Any]] = [
        {"status": "DEAD", "attempts": 10, "finished_at": 20, "answered": 500, "excerpt": "oh [red]no"},
        {"due_at": 1_000_000},
        {"status": "DELIVERED", "attempts": 1, "finished_at": 30, "answered": 200},
    ]
    rows = [
        delivery_row(event=event.id, webhook=hooks[event.client - 1].id, client=event.client, **state)
        for event, state in zip(events, states, strict=True)
    ]
    write_to(URL, *hooks, *events, *rows)
    everything = listed(capsys, "deliveries")
    assert ids(everything) == [row.id for row in rows]
    assert everything[0] == {
        "id": message_id(rows[0].id),
        "event": to_text(events[0].id),
        "eventType": "identity.created",
        "resource": to_text(events[0].resource),
        "sequence": events[0].sequence,
        "webhook": to_text(hooks[0].id),
        "clientId": client,
        "status": "DEAD",
        "attempts": 10,
        "createdAt": "1970-01-01T00:00:00.000010Z",
        "dueAt": None,
        "finishedAt": "1970-01-01T00:00:00.000020Z",
        "answered": 500,
        "excerpt": "oh [red]no",
    }
    assert everything[1]["dueAt"] == "1970-01-01T00:00:01.000000Z"
    assert ids(listed(capsys, "dead-letters")) == [rows[0].id]
    assert ids(listed(capsys, "deliveries", "--status", "WAITING")) == [rows[1].id]
    assert ids(listed(capsys, "deliveries", "--webhook", to_text(hooks[1].id))) == [rows[2].id]
    assert ids(listed(capsys, "deliveries", "--client", other)) == [rows[2].id]
    assert listed(capsys, "dead-letters", "--client", other) == []
    page = listed(capsys, "deliveries", "--limit", 1, "--after", everything[0]["id"])
    assert ids(page) == [rows[1].id]
    code, said, message = run(capsys, "webhooks", "deliveries", "--limit", 2)
    assert (code, len(said.splitlines())) == (0, 2)
    assert "DEAD  10 attempts" in said
    assert "answered 500  (oh [red]no)" in said
    assert f"--after {message_id(rows[1].id)}" in message
    assert "s3cret" not in said + json.dumps(everything)


def test_an_event_is_replayed_to_all_that_had_it(capsys: Captured, client: str) -> None:
    """Its deliveries wait again but for those to webhooks that are inactive or deleted, which are reported."""
    hooks = [webhook_row(), webhook_row(active=0), webhook_row()]
    event = event_row(waiting=0)
    rows = [
        delivery_row(event=event.id, webhook=hook, status="DELIVERED", finished_at=20)
        for hook in (hooks[0].id, hooks[1].id, new_id(), hooks[2].id)
    ]
    write_to(URL, *hooks, event, *rows)
    code, said, _ = run(capsys, "webhooks", "replay", to_text(event.id))
    assert code == 0
    assert said.splitlines() == [
        f"{message_id(rows[0].id)} waits again",
        f"{message_id(rows[3].id)} waits again",
        f"{message_id(rows[1].id)} does not: the webhook is inactive",
        f"{message_id(rows[2].id)} does not: the webhook is deleted",
    ]
    assert ids(listed(capsys, "deliveries", "--status", "WAITING")) == [rows[0].id, rows[3].id]


def test_a_test_is_replayed_to_an_inactive_webhook(capsys: Captured, client: str) -> None:
    """Such a webhook gets tests alone, and so their repetition."""
    hook = webhook_row(active=0)
    event = event_row(waiting=0, type="webhook.test", resource=hook.id)
    row = delivery_row(event=event.id, webhook=hook.id, status="DEAD", finished_at=20)
    write_to(URL, hook, event, row)
    assert json.loads(done(capsys, "webhooks", "replay", to_text(event.id)))["again"] == [message_id(row.id)]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["replay", "01890a5d-ac96-774b-bcce-b302099a8057"], "no delivery has this id, and no event"),
        (["replay", "msg_zz"], "an id must be a UUID, or msg_"),
        (["deliveries", "--status", "LOST"], "status must be one of WAITING, DELIVERED, DEAD, DROPPED"),
        (["deliveries", "--client", "cl_nobody"], "no such client"),
        (["dead-letters", "--webhook", "x"], "an id must be"),
    ],
)
def test_unknown_ids_are_reported(capsys: Captured, client: str, words: list[str], message: str) -> None:
    """The error names what is wrong."""
    assert message in refused(capsys, "webhooks", *words)


def waiting_test(url: str) -> str:
    """Write a webhook that leads to a URL, and a test of it; returns its secret."""
    secret, resource = new_secret(), new_id()

    async def work(store: Store) -> None:
        secrets = await load_or_create(store, load_master_keys("file:scoring.db.key"))
        sealed = secrets.seal(b"webhooks.secret." + resource, secret.encode())
        row = webhook_row(id=resource, destination_url=url, secret=sealed)
        test = NewEvent(ONE, EventType.WEBHOOK_TEST, resource, 20, webhook_data(resource), always=True)
        async with store.writing([]) as transaction:
            await transaction.insert([row])
            await write_events(transaction, [test])

    run_story(URL, work)
    return secret


@contextmanager
def deliverer(*words: str) -> Iterator["subprocess.Popen[str]"]:
    """Start the deliverer alone, and wait until it delivers."""
    command = [str(PROGRAM), "deliver", "--database", URL, *words]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    try:
        assert process.stderr is not None
        while "delivering" not in (line := process.stderr.readline()):
            assert line.partition("] ")[2].startswith("metrics on ")
        yield process
    finally:
        process.kill()
        process.communicate()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_the_deliverer_alone(capsys: Captured, client: str, number: signal.Signals) -> None:
    """What waits is delivered and counted, what is replayed again under the same id; a signal ends it with 0."""
    port = free_port()
    with receiving() as receiver:
        secret = waiting_test(receiver.url)
        with deliverer("--development", "--metrics-port", str(port)) as process:
            until(lambda: len(receiver.taken) == 1, "the delivery")
            until(lambda: len(listed(capsys, "deliveries", "--status", "DELIVERED")) == 1, "its end")
            done(capsys, "webhooks", "replay", receiver.taken[0].id)
            until(lambda: len(receiver.taken) == 2, "the repetition")
            page = f"http://127.0.0.1:{port}/metrics"
            until(
                lambda: value(scraped(page), "delivery_attempts_total", status="DELIVERED") == 2, "its count"
            )
            assert value(scraped(page), "delivery_seconds_count") == 2
            process.send_signal(number)
            _, error = process.communicate(timeout=SECONDS)
    assert process.returncode == 0
    assert error.rstrip().endswith("stopped")
    assert receiver.taken[0].id == receiver.taken[1].id
    assert receiver.taken[0].verified(secret) == receiver.taken[1].verified(secret)


def test_a_fault_of_machine_code_says_where(client: str) -> None:
    """A deliverer that crashes leaves the stacks of its threads on standard error."""
    with deliverer() as process:
        process.send_signal(signal.SIGSEGV)
        assert "Fatal Python error: Segmentation fault" in process.communicate(timeout=SECONDS)[1]


@pytest.mark.parametrize(
    ("scheme", "words", "why"),
    [
        ("http", ("--egress-networks", "127.0.0.0/8"), "only https can be dialled"),
        ("https", (), "no address of the destination may be dialled"),
        ("https", ("--egress-networks", "10.0.0.0/8, 127.0.0.0/8"), "the TLS handshake failed"),
    ],
)
def test_this_machine_is_dialled_when_a_setting_names_it(
    capsys: Captured, client: str, scheme: str, words: tuple[str, ...], why: str
) -> None:
    """Without `--development` plain http is never sent, and special addresses are dialled in named ranges alone."""
    with receiving() as receiver:
        waiting_test(receiver.url.replace("http", scheme))
        with deliverer(*words):
            until(lambda: [line["attempts"] for line in listed(capsys, "deliveries")] == [1], "an attempt")
    assert receiver.taken == []
    assert listed(capsys, "deliveries")[0]["excerpt"] == why


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--egress-networks", "inside"], "egress_networks.0: must be an address"),
        (["--egress-proxy", "socks5://u:s3cret@h"], "egress_proxy: must be a URL such as http://"),
        (["--shutdown-grace", "soon"], "duration"),
    ],
)
def test_settings_that_a_deliverer_can_not_use_are_reported(
    capsys: Captured, client: str, words: list[str], message: str
) -> None:
    """Settings that break a rule end it before it begins; a password is not repeated."""
    error = refused(capsys, "deliver", *words)
    assert message in error
    assert "s3cret" not in error
