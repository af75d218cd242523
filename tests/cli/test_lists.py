"""The commands on lists."""

import json
import shutil
from pathlib import Path

import pytest

from program import Captured, run
from scoring_model.scorer import Scorer
from scoring_model.service.activation.links import agree_on_links
from scoring_model.service.operator_lists import changes
from scoring_model.service.store import with_store

URL = "sqlite:///scoring.db"
BASE = ("--database", URL)


@pytest.fixture
def client(
    tmp_path: Path, migrated: Path, sealed: Path, monkeypatch: pytest.MonkeyPatch, capsys: Captured
) -> str:
    """A client of an empty database in the working directory, whose history has the link keys of a bundle."""
    shutil.copy(migrated, tmp_path / "scoring.db")
    monkeypatch.chdir(tmp_path)
    assert run(capsys, "keys", "generate-master", "scoring.db.key")[0] == 0
    with_store(URL, lambda store: agree_on_links(store, Scorer.load(sealed)))
    made = run(capsys, "clients", "create", "shop", *BASE, "--json")[1]
    return str(json.loads(made)["clientId"])


def test_lists_are_filled_shown_and_emptied(
    capsys: Captured, client: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """From files and standard input; shown with numbers, times and names, never with values."""
    add = ("lists", "add", "farms", *BASE, "--key", "device", "--action", "fail", "--client", client)
    file = tmp_path / "devices.txt"
    file.write_text('d-4711\n\n d-4712 \n{"signals.deviceId": "d-4713"}\nd-4711\n')
    code, told, _ = run(capsys, *add, "--values", file, "--until", "30d", "--by", "fraud-ops")
    assert (code, told) == (0, "farms: 3 added or given another end, 0 unchanged; 3 in all\n")
    (tmp_path / "more.txt").write_text("d-4711\nd-1\n")
    with (tmp_path / "more.txt").open() as more:
        monkeypatch.setattr("sys.stdin", more)
        assert (
            run(capsys, *add, "--values", "-")[1]
            == "farms: 2 added or given another end, 0 unchanged; 4 in all\n"
        )
    shown = json.loads(run(capsys, "lists", "show", *BASE, "--json")[1])
    assert [(one["list"], one["key"], one["outcome"], one["entries"], one["hits"]) for one in shown] == [
        ("farms", "device", "FAILED", 4, 0)
    ]
    assert [(one["added"], one["removed"]) for one in shown[0]["changes"]] == [(2, 1), (3, 0)]
    assert shown[0]["changes"][1]["by"] == "fraud-ops"
    told = run(capsys, "lists", "show", "farms", *BASE, "--client", client)[1]
    assert "farms  FAILED by device" in told
    assert "d-47" not in told
    remove = ("lists", "remove", "farms", *BASE, "--client", client)
    assert run(capsys, *remove, "--values", file)[1] == "farms: 3 removed, 0 were not on it; 1 left\n"
    assert run(capsys, *remove, "--all")[1] == "farms: 1 removed, 0 were not on it; 0 left\n"
    assert run(capsys, *remove)[0] == 1


def test_a_bad_line_adds_nothing(capsys: Captured, client: str, tmp_path: Path) -> None:
    """All problems are listed by line and rule, without values."""
    file = tmp_path / "values.txt"
    file.write_text(
        '{"firstName": "Ann", "lastName": "Lee", "dob": "1990-02-31"}\nAnn Lee\n{"nick": "x"}\n{\n'
    )
    base = ("lists", "add", "people", *BASE, "--client", client, "--values", file, "--action", "step_up")
    code, _, complaint = run(capsys, *base, "--key", "person")
    assert code == 1
    for text in (
        "row 0: dob: not_a_date",
        "row 1: row: wrong_type",
        "row 2: row: unknown_field",
        "row 3: row: malformed_row",
    ):
        assert text in complaint
    assert "Ann" not in complaint
    code, _, complaint = run(capsys, *base, "--key", "devise")
    assert (code, "did you mean device" in complaint) == (1, True)
    assert run(capsys, *base[:5], "--values", file, "--action", "fail", "--key", "device")[0] == 1
    assert json.loads(run(capsys, "lists", "show", *BASE, "--json")[1]) == []


def test_files_of_values_as_editors_write_them(capsys: Captured, client: str, tmp_path: Path) -> None:
    """A byte order mark is no part of the first value; another encoding, a long line and a past end are refused."""
    file = tmp_path / "values.txt"
    add = ("lists", "add", "farms", *BASE, "--key", "device", "--action", "fail", "--client", client)
    remove = ("lists", "remove", "farms", *BASE, "--client", client, "--values")
    file.write_bytes(b"\xef\xbb\xbfd-1\r\nd-2\r\n")
    assert run(capsys, *add, "--values", file)[0] == 0
    (tmp_path / "plain.txt").write_text("d-1\n")
    assert run(capsys, *remove, tmp_path / "plain.txt")[1] == "farms: 1 removed, 0 were not on it; 1 left\n"
    lists = tmp_path / "lists.yaml"
    lists.write_text("lists: [{name: farms, key: device, action: fail, values: values.txt}]")
    assert run(capsys, "lists", "import", lists, *BASE, "--client", client)[0] == 0
    assert run(capsys, *remove, file)[1] == "farms: 2 removed, 0 were not on it; 0 left\n"
    file.write_bytes("d-é\n".encode("latin-1"))
    assert "values.txt: a file of values must be UTF-8" in run(capsys, *add, "--values", file)[2]
    file.write_text("d" * 2_000_000)
    assert "values.txt: a line has more than 1,048,576 characters" in run(capsys, *add, "--values", file)[2]
    file.write_text("d-1\n")
    refused = run(capsys, *add, "--values", file, "--until", "2020-01-01")
    assert (refused[0], "until: must be later than now" in refused[2]) == (1, True)
    assert json.loads(run(capsys, "lists", "show", *BASE, "--json")[1])[0]["entries"] == 0


def test_a_new_client_gets_the_lists_of_all_scopes(capsys: Captured, client: str, tmp_path: Path) -> None:
    """`clients create` copies them; who is on them is stopped for every client."""
    file = tmp_path / "devices.txt"
    file.write_text("d-1\nd-2\n")
    add = ("lists", "add", "farms", *BASE, "--key", "device", "--action", "fail", "--values", file)
    assert run(capsys, *add)[0] == 1
    assert run(capsys, *add, "--all-scopes")[0] == 0
    assert run(capsys, "clients", "create", "second", *BASE)[0] == 0
    shown = json.loads(run(capsys, "lists", "show", *BASE, "--json")[1])
    assert [one["entries"] for one in shown] == [2, 2, 2]
    assert run(capsys, "lists", "remove", "farms", *BASE, "--all", "--all-scopes")[0] == 0
    shown = json.loads(run(capsys, "lists", "show", *BASE, "--json")[1])
    assert [one["entries"] for one in shown] == [0, 0, 0]


def test_what_one_list_does_not_take_no_list_takes(
    capsys: Captured, client: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file is refused whole for a later list: another outcome, no room for a list or for its values."""
    file = tmp_path / "devices.txt"
    file.write_text("d-1\nd-2\n")
    add = ("lists", "add", "old", *BASE, "--key", "device", "--values", file)
    assert run(capsys, *add, "--action", "fail", "--client", client)[0] == 0
    lists = tmp_path / "lists.yaml"
    imported = ("lists", "import", lists, *BASE, "--client", client)

    def complaint_of(name: str, action: str, *values: str) -> str:
        new = {"name": "new", "key": "device", "action": "pass", "values": ["d-3"]}
        later = {"name": name, "key": "device", "action": action, "values": values}
        lists.write_text(json.dumps({"lists": [new, later]}))
        code, _, complaint = run(capsys, *imported)
        assert code == 1
        return complaint

    assert "lists.1.list: has the key device and the outcome FAILED" in complaint_of("old", "pass", "d-4")
    unknown = [{"name": name, "key": "devise", "action": "pass", "values": ["d-3"]} for name in "ab"]
    lists.write_text(json.dumps({"lists": unknown}))
    assert "lists.1.key: is no link key of the history; did you mean device?" in run(capsys, *imported)[2]
    monkeypatch.setattr(changes, "MOST_ENTRIES", 3)
    monkeypatch.setattr(changes, "AT_ONCE", 1)
    assert "lists.1.list: would have 4 entries" in complaint_of("old", "fail", "d-1", "d-3", "d-4")
    assert "lists.1.list: would have 4 entries" in complaint_of("other", "fail", "d-1", "d-2", "d-3", "d-4")
    monkeypatch.setattr(changes, "MOST_LISTS", 2)
    assert "would be one list more than 2" in complaint_of("other", "fail", "d-4")
    code, _, complaint = run(capsys, *add, "--action", "pass", "--all-scopes")
    assert (code, "which never change, in the history scope 1" in complaint) == (1, True)
    shown = json.loads(run(capsys, "lists", "show", *BASE, "--json")[1])
    assert [(one["list"], one["entries"]) for one in shown] == [("old", 2)]
    complaint_free = [{"name": "old", "key": "device", "action": "fail", "values": ["d-1", "d-3"]}]
    lists.write_text(json.dumps({"lists": complaint_free}))
    assert run(capsys, *imported)[1] == "old: 1 added or given another end, 1 unchanged; 3 in all\n"
