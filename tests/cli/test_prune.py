"""The command that deletes expired data, on a real SQLite database."""

import asyncio
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any, Final

import pytest

import program
from program import Captured
from scoring_model.cli import main
from scoring_model.contract.texts import to_text
from scoring_model.records.times import DAY
from scoring_model.service.core.clock import SystemClock
from scoring_model.service.core.ids import first_of
from scoring_model.service.core.payload import pack_stored
from scoring_model.service.core.rows import (
    ControlPassRow,
    DeliveryRow,
    EventRow,
    ImportedRow,
    LinkRow,
    ListEntryRow,
    Row,
    VerificationRow,
)
from scoring_model.service.keys.data_keys import Vault
from scoring_model.service.keys.keyring import add_master_key, load_master_keys
from scoring_model.service.retention.kept import note_window
from service_use import table
from store_story import run_story, write_to
from stored_rows import (
    broken,
    delivery_row,
    event_row,
    idempotency_row,
    new_id,
    packed,
    verification_row,
    webhook_row,
)

URL: Final = "sqlite:///scoring.db"
KINDS: Final = (
    *("links", "importedRecords", "controlPasses", "listEntries", "labelTimes"),
    *("answers", "deliveries", "deadLetters", "events"),
)
NOTHING: Final = dict.fromkeys(KINDS, 0)
HEAVY: Final = ("lightgbm", "mlflow", "optuna", "sklearn", "pandas", "polars", "pyarrow", "numba")


@pytest.fixture(autouse=True)
def database(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A new database in the working directory, which a bundle with windows of 90 days was served on."""
    monkeypatch.chdir(tmp_path)
    assert main(["database", "migrate", "--database", URL]) == 0
    run_story(URL, lambda store: note_window(store, 90 * DAY))
    return tmp_path / "scoring.db"


def run(capsys: Captured, *words: str) -> tuple[int, str, str]:
    """Run the command: exit code, standard output, standard error."""
    return program.run(capsys, "database", "prune", "--database", URL, *words)


def pruned(capsys: Captured, *words: str) -> dict[str, Any]:
    """The counts of the command, as JSON."""
    code, said, error = run(capsys, "--json", *words)
    assert code == 0, error
    found: dict[str, Any] = json.loads(said)
    return found


def ago(days: float) -> int:
    """An instant, a little more than so many days ago."""
    return SystemClock().now() - round(days * DAY) - 1


def id_of(days: float) -> bytes:
    """An identifier that was made then."""
    return first_of(ago(days))[:8] + os.urandom(8)


def outbox(days: float) -> list[Row]:
    """Three events with a delivery each that were over so many days ago."""
    events = [event_row(waiting=0, created_at=ago(days)) for _ in range(3)]
    return [
        *events,
        *(
            delivery_row(event=event.id, status=status, finished_at=ago(days))
            for event, status in zip(events, ("DELIVERED", "DROPPED", "DEAD"), strict=True)
        ),
    ]


def left(kind: type[Row]) -> int:
    """How many rows of a kind there are."""
    return len(asyncio.run(table(URL, kind)))


def test_by_default_what_was_over_30_days_ago_goes(capsys: Captured) -> None:
    """Each kind is counted; what is younger stays, and so does what waits; links go after the longest window."""
    waiting = event_row(waiting=0, created_at=1)
    write_to(URL, *outbox(30), *outbox(29), waiting, delivery_row(event=waiting.id), webhook_row())
    write_to(URL, *(LinkRow(new_id(), ago(days), b"p", packed((ago(days), 1))) for days in (89, 91)))
    write_to(URL, *(ImportedRow(new_id(), 1, ago(days), b"") for days in (89, 91)))
    write_to(URL, *(ControlPassRow(new_id(), ago(days), new_id()) for days in (89, 91)))
    write_to(URL, *(ListEntryRow(new_id(), 1, 1, None, 2, ago(days)) for days in (89, 91)))
    write_to(URL, *(idempotency_row(created_at=ago(days)) for days in (0.9, 1)))
    counts = dict(zip(KINDS, (1, 1, 1, 1, 1, 1, 2, 1, 3), strict=True))
    dry = pruned(capsys, "--dry-run")
    assert dry == {"dryRun": True, "pruned": {**counts, "signals": None}, "unreadable": 0}
    assert (left(EventRow), left(DeliveryRow), left(LinkRow)) == (7, 7, 2)
    assert pruned(capsys) == {**dry, "dryRun": False}
    assert (left(EventRow), left(DeliveryRow), left(LinkRow)) == (4, 4, 1)
    assert pruned(capsys)["pruned"] == {**NOTHING, "signals": None}


def test_each_age_is_an_option(capsys: Captured) -> None:
    """An event stays as long as its delivery, at any age."""
    write_to(URL, *outbox(10))
    assert pruned(capsys, "--events-after", "1h")["pruned"] == {**NOTHING, "signals": None}
    assert pruned(capsys, "--delivered-after", "10d")["pruned"]["deliveries"] == 2
    assert pruned(capsys, "--dead-after", "11d")["pruned"]["deadLetters"] == 0
    assert pruned(capsys, "--dead-after", "240h")["pruned"]["deadLetters"] == 1
    assert pruned(capsys, "--events-after", "14401m")["pruned"]["events"] == 0
    assert pruned(capsys, "--events-after", "10d")["pruned"]["events"] == 3


def test_each_kind_has_a_line_for_people(capsys: Captured) -> None:
    """What was not asked for has none; what a run that changes nothing says can't be mistaken."""
    write_to(URL, *outbox(30))
    _, said, _ = run(capsys, "--dry-run")
    assert "3  events would be deleted\n" in said
    assert "signals" not in said
    code, said, error = run(capsys)
    assert (code, error.strip()) == (0, "")
    assert "3  events deleted\n" in said
    assert "1  dead letters deleted\n" in said


def test_ages_that_are_none_are_reported_together(capsys: Captured) -> None:
    """By the names of their options, before anything is deleted."""
    write_to(URL, *outbox(30))
    code, said, error = run(capsys, "--dead-after", "soon", "--signals-after", "-1d", "--events-after", "30d")
    assert (code, said) == (1, "")
    assert "--dead-after" in error
    assert "--signals-after" in error
    assert "--events-after" not in error
    assert left(EventRow) == 3


def test_links_are_left_where_no_bundle_was_served(
    capsys: Captured, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is unknown how long they count; that is reported, and the rest is deleted."""
    (tmp_path / "other").mkdir()
    monkeypatch.chdir(tmp_path / "other")
    assert main(["database", "migrate", "--database", URL]) == 0
    write_to(URL, LinkRow(new_id(), 5, b"p", None), *outbox(30))
    code, said, error = run(capsys, "--json")
    assert code == 0
    counts = json.loads(said)["pruned"]
    assert (counts["links"], counts["labelTimes"], counts["events"]) == (None, None, 3)
    assert "were left" in error
    assert left(LinkRow) == 1


def test_signals_go_where_the_operator_wants_it(capsys: Captured, database: Path) -> None:
    """With the master key, which nothing else needs; without one it is an error, and nothing is deleted."""
    code, _, error = run(capsys, "--signals-after", "365d")
    assert (code, error.count("error: ")) == (1, 1)
    key = Path(f"{database}.key")
    add_master_key(key)
    vault = Vault(load_master_keys(f"file:{key}"))
    key_row, opened = vault.new_key(1, None, ago(400))
    made = [
        verification_row(id=id_of(days), key_id=key_row.key_id, created_at=ago(days), completed_at=ago(days))
        for days in (365, 364)
    ]
    sealed = [
        row._replace(
            payload=opened.seal(
                pack_stored({"ours": 1}, None, b"row"), table="verifications", column="payload", row=row.id
            )
        )
        for row in made
    ]
    write_to(URL, key_row, *sealed)
    assert pruned(capsys)["pruned"]["signals"] is None
    assert pruned(capsys, "--signals-after", "365d", "--dry-run")["pruned"]["signals"] == 1
    assert {row.payload for row in asyncio.run(table(URL, VerificationRow))} == {
        row.payload for row in sealed
    }
    _, said, _ = run(capsys, "--signals-after", "365d")
    assert "1  verifications with signals have lost them\n" in said
    changed = {row.id for row in asyncio.run(table(URL, VerificationRow))} - {
        row.id for row in asyncio.run(table(URL, VerificationRow)) if row in sealed
    }
    assert changed == {made[0].id}
    write_to(URL, sealed[1]._replace(id=id_of(364), payload=broken(sealed[1].payload)))
    code, said, error = run(capsys, "--signals-after", "1d", "--json")
    assert (code, json.loads(said)["pruned"]["signals"], json.loads(said)["unreadable"]) == (0, 1, 1)
    assert "1 verification was left" in error


def test_a_replay_of_what_was_deleted_says_so(capsys: Captured) -> None:
    """By the id of the event or of the delivery; the operator learns that it is gone for good."""
    rows = outbox(30)
    write_to(URL, *rows)
    pruned(capsys)
    for row in rows:
        assert isinstance(row, EventRow | DeliveryRow)
        assert main(["webhooks", "replay", to_text(row.id), "--database", URL]) == 1
        assert "deleted after a time" in capsys.readouterr().err


def test_it_needs_none_of_the_heavy_libraries(database: Path) -> None:
    """The command runs where only the service is installed."""
    program = (
        "import sys; from scoring_model.cli import main; "
        f"code = main(['database', 'prune', '--database', {URL!r}]); "
        f"print(code, [name for name in {HEAVY!r} if name in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, cwd=database.parent
    )
    assert done.stdout.splitlines()[-1] == "0 []"
