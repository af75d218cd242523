"""What a history is as a file: nothing that no file may hold, and no reference of one client taken for another's."""

import asyncio
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import cycle
from pathlib import Path
from typing import Any

import pytest

from replay_client import IDENTITIES, VERIFICATIONS, Credentials, connected, new_client, opened
from replay_verdicts import Stored, Verdict, columns, differences, exported, scored, stored, write_lines
from scoring_model.contract.texts import from_text
from scoring_model.scorer import Scorer
from scoring_model.service.labels.imports import LabelLine, import_labels
from scoring_model.service.past.export import RecordColumns

ANN = {
    "firstName": "Ann",
    "lastName": "Ashe",
    "dob": "1980-02-03",
    "citizenship": "FR",
    "documentType": "PASSPORT",
    "imageUrls": ["https://images.example/ann"],
    "address": {"line1": "1 High St", "city": "Lille", "country": "FR"},
    "externalId": "ann",
}


async def verify(url: str, client: Credentials, bodies: Sequence[Mapping[str, object]]) -> list[str]:
    """Verify in turn; return the ids."""
    async with connected(url, client) as connection:
        return [(await connection.post(VERIFICATIONS, body))[1]["id"] for body in bodies]


async def identify(url: str, client: Credentials, body: Mapping[str, object]) -> str:
    """Create an identity; its id."""
    async with connected(url, client) as connection:
        identity = (await connection.post(IDENTITIES, body))[1]
    assert identity["status"] == "VALIDATED"
    return str(identity["id"])


def seen(scorer: Scorer, rows: Mapping[str, Stored], names: Sequence[str], column: str) -> list[float]:
    """A column of some verifications."""
    found: list[float] = columns(scorer, [rows[name].verdict for name in names])[column].tolist()
    return found


def verdicts_of(rows: Mapping[str, Stored]) -> dict[str, Verdict]:
    """Verdicts alone."""
    return {name: row.verdict for name, row in rows.items()}


@pytest.mark.filterwarnings("ignore:the model reads")  # its source has few columns
def test_nobody_sees_what_no_file_may_hold(served: Any, linked: Scorer, tmp_path: Path) -> None:
    """A request with nothing but a reference is scored with the history, and enters neither history nor file."""
    nothing: list[dict[str, object]] = [
        {"signals": {}, "subjectId": "s"},
        {"signals": {}},
        {"signals": {"deviceId": " "}, "subjectId": "s"},
        {"signals": {"unused": 1}, "subjectId": "s"},
    ]
    something = {"signals": {"formSeconds": 9}, "subjectId": "s"}

    async def main() -> None:
        async with opened(served.database) as store:
            client = await new_client(store, now=served.clock.now())
            names = await verify(served.urls[0], client, [something, *nothing, something])
            async with store.reading() as reader:
                clients = await reader.clients()
            lines = [LabelLine(from_text(name), None, "fraud", 0) for name in names[1:5]]
            assert (await import_labels(store, clients, lines, served.clock)).imported == 4
            served.clock.advance(1_000_000)
            names += await verify(served.urls[0], client, [something])
            rows = await stored(store, client.number)
            history = await exported(store, client.number)
            assert seen(linked, rows, names, "link_person_1h_records")[:2] == [0, 1]
            assert seen(linked, rows, names, "link_person_1h_records")[3:] == [1, 1, 1, 2]
            assert seen(linked, rows, names, "link_person_1h_frauds")[-1] == 0
            table = RecordColumns(linked.contents.schema.signals, {})
            kept = {str(record["recordId"]): record for record in history if table.is_record(record)}
            assert list(kept) == [names[i] for i in (0, 5, 6)]
            source = write_lines(tmp_path / "history.jsonl", list(kept.values()))
            verdicts = {name: verdict for name, verdict in verdicts_of(rows).items() if name in kept}
            assert not differences(linked, verdicts, scored(linked, source))

    asyncio.run(main())


@pytest.mark.filterwarnings("ignore:the model reads")  # its source has few columns
def test_references_of_clients_of_a_history_scope_stay_apart(
    served: Any, linked: Scorer, tmp_path: Path
) -> None:
    """Two clients that share a history, and call other persons by the same name, are one file."""
    device = {"signals": {"deviceId": "d"}, "subjectId": "s"}
    alone = {"signals": {"formSeconds": 9}, "subjectId": "s"}

    async def main() -> None:
        async with opened(served.database) as store:
            now = served.clock.now()
            clients = [await new_client(store, now=now, history_scope="two") for _ in range(2)]
            names: list[str] = []
            for client, url in zip(clients, cycle(served.urls), strict=False):
                ann = await identify(url, client, ANN)
                names += await verify(url, client, [device, alone, {"identityId": ann, "signals": {}}])
            rows = await stored(store, clients[0].number) | await stored(store, clients[1].number)
            history = await exported(store, *(client.number for client in clients))
            as_sent = await exported(store, clients[0].number)
            assert Counter(record.get("subjectId") for record in as_sent) == {"s": 2, None: 1}
            assert seen(linked, rows, names, "link_subject_1h_records")[:2] == [0, 1]
            assert seen(linked, rows, names, "link_subject_1h_records")[3:5] == [0, 1]
            assert seen(linked, rows, names, "link_device_1h_records")[3] == 1
            assert seen(linked, rows, names, "link_device_1h_persons")[3] == 1
            assert seen(linked, rows, names, "link_person_1h_records") == [0, 1, 0, 0, 1, 1]
            source = write_lines(tmp_path / "history.jsonl", history)
            assert not differences(linked, verdicts_of(rows), scored(linked, source))
            assert sorted(Counter(r["subjectId"] for r in history if "subjectId" in r).values()) == [2, 2]
            assert len({r["externalId"] for r in history if "externalId" in r}) == 2

    asyncio.run(main())
