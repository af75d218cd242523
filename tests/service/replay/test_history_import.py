"""Law 3 through the command line: a history that was imported from a file gives the bits of the file's next rows."""

import asyncio
import json
import random
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from applications import Application, applications
from linked_use import AMOUNT
from program import Captured, refused, run
from replay_client import VERIFICATIONS, Credentials, connected, new_client, opened
from replay_verdicts import Verdict, columns, stored, write_lines
from scoring_model.records.reading import read_records
from scoring_model.scorer import Scorer
from scoring_model.scorer.frames import feature_rows, read_histories
from scoring_model.service.core.clock import SystemClock

HOUR = 3_600_000_000
DAY = 24 * HOUR
RECORDS = 320
NEXT = 40

pytestmark = pytest.mark.usefixtures("master_key")


def past(end: int) -> list[Application]:
    """Applications of 80 days, many at one instant, with amounts; a label is known up to 20 days after its event."""
    rng = random.Random(4)
    everything = applications(RECORDS + NEXT, seed=31, months=3)
    found = []
    for place, one in enumerate(everything):
        day = place * 80 // RECORDS
        at = end - 80 * DAY + day * DAY + rng.choice((0, 0, 0, 5 * HOUR))
        amount = rng.choice([None, 0, -0.05, 0.25, 2.0**39 / 10, rng.uniform(-1e4, 1e4)])
        signals = {**one.signals, AMOUNT.signal: amount, "deviceId": f"d{rng.choice((0, 0, 0, place))}"}
        signals = {name: value for name, value in signals.items() if value is not None}
        known = min(at + rng.randrange(20 * DAY), end) if rng.random() < 0.3 else None
        label = None if known is None else rng.choice(("fraud", "genuine"))
        found.append(replace(one, at=min(at, end), signals=signals, label=label, known_at=known))
    return found


async def verified(url: str, client: Credentials, everybody: Sequence[Application]) -> list[str]:
    """Verify by signals alone; the ids."""
    async with connected(url, client) as connection:
        answers = [await connection.post(VERIFICATIONS, one.request(None)) for one in everybody]
    return [answer["id"] for _, answer in answers]


def test_a_verification_gets_what_the_next_row_of_the_file_gets(
    summed: Any, summing: Path, tmp_path: Path, capsys: Captured
) -> None:
    """In two runs that overlap, with ties at one instant and at the cap, with labels and amounts: the same bits."""
    scorer, now = Scorer.load(summing), SystemClock().now()
    summed.clock.put(now - HOUR // 2)
    everything = past(now - HOUR)
    records = [one.record() for one in everything[:RECORDS]]
    first = write_lines(tmp_path / "first.jsonl", records[: RECORDS // 2])
    whole = write_lines(tmp_path / "whole.jsonl", records)
    following = [replace(one, label=None, known_at=None) for one in everything[RECORDS:]]
    following = [one for one in following if one.signals]

    async def client_of() -> Credentials:
        async with opened(summed.database) as store:
            return await new_client(store, now=now)

    client = asyncio.run(client_of())
    named = ["--database", summed.database, "--client", client.headers["x-client-id"]]
    done = []
    for words in (
        [first, "--bundle", summing],
        [whole, "--bundle", summing],
        [whole, "--finish", "--bundle", summing],
    ):
        code, said, error = run(capsys, "history", "import", *words, *named, "--json")
        assert code == 0, error
        done.append(json.loads(said))
    half = RECORDS // 2
    assert [(one["imported"], one["repeated"]) for one in done] == [(half, 0), (half, half), (0, RECORDS)]
    assert done[1]["rejected"] == done[1]["too_old"] == done[1]["unlinked"] == 0

    async def main() -> dict[str, Verdict]:
        async with opened(summed.database) as store:
            for url in summed.urls:
                await verified(url, client, following[:: len(summed.urls)])
            return {name: row.verdict for name, row in (await stored(store, client.number)).items()}

    verdicts = asyncio.run(main())
    served, out = tmp_path / "served.parquet", tmp_path / "scored.parquet"
    code, _, error = run(
        capsys, "data", "export", *named, "--bundle", summing, "--since", "1d", "--out", served
    )
    assert code == 0, error
    code, _, error = run(capsys, "score", summing, served, "--history", whole, "--reasons", "--out", out)
    assert code == 0, error
    assert {
        row["recordId"]: (row["scoringScore"], row["scoringOutcome"], tuple(row["reasonCodes"]))
        for row in pq.read_table(out).to_pylist()
    } == {name: verdict[1:] for name, verdict in verdicts.items()}
    table = read_records(served, scorer.contents.schema, labelled=False).table
    rows = feature_rows(scorer, table, read_histories(scorer, [whole]))
    assert [row.tobytes() for row in rows] == [verdicts[name].row for name in table.record_ids]
    found = columns(scorer, verdicts.values())
    # Of one device far more records than the cap, and of its last instant more than fit.
    assert (found["link_device_90d_records"] > 100).any()
    assert (found["link_device_90d_frauds"] > 0).any()
    assert (found["link_device_30d_delayed_records"] > 0).any()
    message = refused(capsys, "history", "import", whole, *named, "--bundle", summing)
    assert "has verifications" in message


def test_an_import_that_breaks_a_rule_is_refused(
    summed: Any, summing: Path, tmp_path: Path, capsys: Captured
) -> None:
    """Records of the future, bad rows, files without a good row or ids, an unknown client: nothing is imported."""
    now = SystemClock().now()

    async def client_of() -> Credentials:
        async with opened(summed.database) as store:
            return await new_client(store, now=now)

    client = asyncio.run(client_of())
    named = ["--database", summed.database, "--bundle", summing, "--client"]
    one = past(now)[0]
    future = write_lines(tmp_path / "future.jsonl", [replace(one, at=now + DAY).record()])
    bare = {name: value for name, value in one.record().items() if name != "recordId"}
    without = write_lines(tmp_path / "without.jsonl", [bare])
    bad = one.record() | {"dob": "1990-02-31"}
    broken = write_lines(tmp_path / "broken.jsonl", [bad])
    mine = client.headers["x-client-id"]
    said = refused(capsys, "history", "import", broken, *named, mine, "--max-bad-share", 1)
    assert "obeys the contract (dob not_a_date: 1)" in said
    half = write_lines(tmp_path / "half.jsonl", [one.record(), bad | {"recordId": "bad"}])
    said = refused(capsys, "history", "import", half, *named, mine)
    assert (
        "50.00% of the rows were refused, and max_bad_share accepts at most 1.00% (dob not_a_date: 1)" in said
    )
    assert "later than now" in refused(capsys, "history", "import", future, *named, mine)
    assert "no column recordId" in refused(capsys, "history", "import", without, *named, mine)
    assert "no client" in refused(capsys, "history", "import", future, *named, "cl_none")
    assert "--finish" in refused(capsys, "history", "import", *named, mine)
    summed.clock.put(now)
    assert asyncio.run(verified(summed.urls[0], client, [replace(one, label=None, known_at=None)]))
