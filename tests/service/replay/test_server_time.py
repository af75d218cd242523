"""Law 3 with the service's own instants: what it decided under load is what its history gives as a file."""

import asyncio
import json
import random
from collections import deque
from collections.abc import Collection
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest

from applications import Application, applications
from linked_use import AMOUNT
from program import Captured, run
from replay_client import VERIFICATIONS, Credentials, Traffic, connected, new_client, opened, send
from replay_verdicts import Verdict, columns, differences, scored, stored
from scoring_model.scorer import Scorer

EVENTS = 600
CONNECTIONS = 4
"""To each of the two processes."""

SIGN_UPS = 32

TEXTS = {
    "email": (
        "Ann.Lee+1@GoogleMail.com",
        "annlee@gmail.com",
        "x9@a.mailinator.com",
        "ä.é@münchen.example",
        "me",
        None,
    ),
    "ip": ("192.0.2.7", "::ffff:192.0.2.9", "2a00:1450:4001::1", "10.1.2.3", "fe80::1%eth0", "none", None),
    "mobile": (
        "07400 123456",
        "+44 (0)7400 123456",
        447400123456,
        "+33 6 12 34 56 78",
        "+1",
        "call me",
        None,
    ),
}
"""Signals that are read: several spellings of one value, values that cannot be read, none."""

HOT = {
    "emailDomain": "gmail.com",
    "ipCountry": "GB",
    "email": "annlee@gmail.com",
    "ip": "192.0.2.7",
    "mobile": "07400 123456",
}
"""Signals of so many records that no window sees all."""


@pytest.fixture(scope="module")
def summing_scorer(summing: Path) -> Scorer:
    """A scorer of the bundle that the processes serve."""
    return Scorer.load(summing)


def paying(application: Application, rng: random.Random) -> Application:
    """The same application with an amount that may be hard to add: tiny, huge, too much, between two units, none.

    And with texts to read, and with values that many share.
    """
    amount = rng.choice(
        [None, 0, -0.05, 0.15, 0.25, 1e-9, 2.0**39 / 10, -(2.0**40) / 10, 1e300, rng.uniform(-1e4, 1e4)]
    )
    texts = {name: rng.choice(choices) for name, choices in TEXTS.items()}
    common = HOT if rng.random() < 1 / 2 else {}
    signals = {**application.signals, AMOUNT.signal: amount, **texts, **common}
    return replace(application, signals={name: value for name, value in signals.items() if value is not None})


async def decided_again(capsys: Captured, database: str, bundle: Path, out: Path) -> Any:
    """What the command says about all verifications, as JSON."""
    words = ("whatif", "--database", database, "--bundle", bundle, "--out", out, "--json")
    code, said, error = await asyncio.to_thread(run, capsys, *words)
    assert code == 0, error
    return json.loads(said)


async def exported(
    capsys: Captured, database: str, client: Credentials, bundle: Path, out: Path
) -> dict[str, Any]:
    """Export the history of a client to a file; what the command says, as JSON."""
    words = ("data", "export", "--database", database, "--client", client.headers["x-client-id"])
    options = ("--bundle", bundle, "--out", out, "--json")
    code, said, error = await asyncio.to_thread(run, capsys, *words, *options)
    assert code == 0, error
    assert out.stat().st_mode & 0o777 == 0o600
    done: dict[str, Any] = json.loads(said)
    return done


def assert_everything_happened(scorer: Scorer, verdicts: Collection[Verdict]) -> None:
    """All that could go wrong: every window and cap full, labels, bumped instants, hard amounts, texts, reasons."""
    found = columns(scorer, verdicts)
    for key in ("person", "address", "device", "image", "mail", "subject"):
        for span in ("1h", "1d", "7d", "30d", "90d"):
            assert found[f"link_{key}_{span}_records"].max() > 1
        assert (found[f"link_{key}_since_last"] == 1e-6).any()
        assert found[f"link_{key}_90d_frauds"].max() > 0
        for name in ("sum", "mean", "z", "ratio"):
            seen = found[f"link_{key}_90d_form_seconds_{name}"]
            assert np.nanmin(seen) < 0 < np.nanmax(seen)
        assert (found[f"link_{key}_30d_delayed_records"] > 0).any()
    for key in ("mail", "mailbox", "network", "phone"):
        assert (found[f"link_{key}_90d_records"] == 100).any()
    # A key with more records than a window sees: those before the delay are read apart.
    hot = found["link_mail_100d_delayed_records"]
    assert (hot == 100).any()
    assert ((hot > 0) & (found["link_mail_90d_records"] == 100) & (hot < 100)).any()
    assert (found["link_mail_fraud_run"] > 0).any()
    for read in ("email_unreadable", "phone_mobile_invalid", "ip_unreadable", "email_disposable"):
        assert set(np.unique(found[read][~np.isnan(found[read])])) == {0, 1}
    assert np.nanmax(found["email_name_share"]) > 0
    assert np.ptp([verdict.score for verdict in verdicts]) > 300
    assert {verdict.outcome for verdict in verdicts} == {"PASSED", "STEPPED_UP", "FAILED"}
    assert len({reason for verdict in verdicts for reason in verdict.reasons}) > 10


@pytest.mark.usefixtures("master_key")
def test_a_history_of_the_service_scores_alike_as_a_file(
    summed: Any,
    summing: Path,
    summing_scorer: Scorer,
    challenger: Path,
    tmp_path: Path,
    capsys: Captured,
) -> None:
    """Applications over 4 connections to each process, labels reported meanwhile, another client beside.

    Every verdict has the bits of the exported file. Decided again by the same bundle no verdict differs; by another
    one each is what the file gets from it.
    """
    rng = random.Random(3)
    everything = [paying(one, rng) for one in applications(EVENTS, seed=29, months=4)]
    main_traffic = Traffic(deque(everything), rng, summed.clock)
    beside = Traffic(deque(rng.sample(everything, EVENTS // 10)), rng, summed.clock)

    async def main() -> None:
        async with opened(summed.database) as store:
            clients = [await new_client(store, now=summed.clock.now()) for _ in range(2)]
            sent = asyncio.Event()
            reporting = [asyncio.create_task(t.report_labels(store, sent)) for t in (main_traffic, beside)]
            await asyncio.gather(
                *(send(main_traffic, clients[0], url) for url in summed.urls for _ in range(CONNECTIONS)),
                *(send(beside, clients[1], url) for url in summed.urls),
            )
            sent.set()
            await asyncio.gather(*reporting)
            everybody: dict[str, Verdict] = {}
            by_other: dict[str, Verdict] = {}
            for traffic, client in zip((main_traffic, beside), clients, strict=True):
                verdicts = {
                    name: found.verdict for name, found in (await stored(store, client.number)).items()
                }
                assert {name: verdict[1:] for name, verdict in verdicts.items()} == traffic.answers
                source = tmp_path / f"{client.number}.parquet"
                done = await exported(capsys, summed.database, client, summing, source)
                assert (done["records"], done["otherTypes"]) == (len(verdicts), {})
                assert set(done["leftOut"].values()) == {0}
                assert not differences(summing_scorer, verdicts, scored(summing_scorer, source))
                decided = {
                    row["recordId"]: (row["scoringScore"], row["scoringOutcome"], row["decidedBy"])
                    for row in pq.read_table(source).to_pylist()
                }
                assert decided == {name: (*one[1:3], "policy") for name, one in verdicts.items()}
                everybody |= verdicts
                by_other |= scored(Scorer.load(challenger), source)
            out = tmp_path / "whatif.parquet"
            same = await decided_again(capsys, summed.database, summing, out)
            assert same["verifications"] == same["replayed"] == len(everybody)
            assert same["differ"] == 0
            assert same["sameBundle"] == {"replayed": len(everybody), "differ": 0}
            other = await decided_again(capsys, summed.database, challenger, out)
            assert other["differ"] > 0
            assert {
                row["verificationId"]: (row["whatifScore"], row["whatifOutcome"])
                for row in pq.read_table(out).to_pylist()
            } == {name: one[1:3] for name, one in by_other.items()}
            assert_everything_happened(summing_scorer, [everybody[name] for name in main_traffic.answers])

    asyncio.run(main())


async def pay(url: str, client: Credentials, everybody: asyncio.Barrier, amount: float) -> None:
    """Pay over a connection of one's own as soon as everybody has one."""
    async with connected(url, client) as connection:
        await connection.get("/scoring/v1/webhooks")
        await everybody.wait()
        signals = {"deviceId": "one device", AMOUNT.signal: amount}
        status, _ = await connection.post(VERIFICATIONS, {"signals": signals})
        assert status == 201


def test_simultaneous_payments_see_each_other(summed: Any, summing_scorer: Scorer) -> None:
    """Of 32 payments by one device, spread over the processes, every one sees the amounts of those before it."""
    amounts = [float(2**i) for i in range(SIGN_UPS)]

    async def main() -> None:
        async with opened(summed.database) as store:
            client = await new_client(store, now=summed.clock.now())
            everybody = asyncio.Barrier(SIGN_UPS)
            urls = summed.urls * (SIGN_UPS // len(summed.urls))
            await asyncio.gather(
                *(pay(url, client, everybody, amount) for url, amount in zip(urls, amounts, strict=True))
            )
            found = sorted((await stored(store, client.number)).values(), key=lambda row: row.at)
            rows = columns(summing_scorer, [row.verdict for row in found])
            seen = rows["link_device_1h_form_seconds_sum"].tolist()
            # Each amount is a power of two: the sums say who was seen.
            steps = [later - earlier for earlier, later in pairwise(seen)]
            own = rows["signal_form_seconds"].tolist()
            assert seen[0] == 0
            assert steps == own[:-1]
            assert sorted(own) == amounts

    asyncio.run(main())
