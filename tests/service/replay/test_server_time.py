"""Law 3 with the service's own instants: what it decided under load is what its history gives as a file."""

import asyncio
import random
from collections import deque
from pathlib import Path
from typing import Any

import numpy as np

from applications import applications
from replay_client import Traffic, new_client, opened, send
from replay_verdicts import Verdict, columns, differences, exported, scored, stored, write_lines
from scoring_model.scorer import Scorer

EVENTS = 2_600
APPLICATIONS = 2_350
CONNECTIONS = 8
"""To each process."""


def assert_everything_happened(
    scorer: Scorer, verdicts: list[Verdict], history: list[dict[str, Any]]
) -> None:
    """The history has all that could go wrong: every window and every cap full, labels, bumped instants, reasons."""
    assert len(verdicts) >= EVENTS
    found = columns(scorer, verdicts)
    for key in scorer.matrix.link_keys:
        for span in ("1h", "1d", "7d", "30d", "90d"):
            assert found[f"link_{key.name}_{span}_records"].max() > 1
        assert (found[f"link_{key.name}_since_last"] == 1e-6).any()
        assert found[f"link_{key.name}_90d_frauds"].max() > 0
    assert (found["link_mail_90d_records"] == 100).any()
    assert np.ptp([verdict.score for verdict in verdicts]) > 300
    assert {verdict.outcome for verdict in verdicts} == {"PASSED", "STEPPED_UP", "FAILED"}
    assert len({reason for verdict in verdicts for reason in verdict.reasons}) > 10
    assert sum("label" in record for record in history) > EVENTS / 100


def test_a_history_of_the_service_scores_alike_as_a_file(served: Any, linked: Scorer, tmp_path: Path) -> None:
    """2,600 verifications over 8 connections to each process, labels reported meanwhile, another client beside."""
    everything = applications(APPLICATIONS, seed=23, months=8)
    rng = random.Random(1)
    one = Traffic(deque(everything), rng, served.clock)
    other = Traffic(deque(rng.sample(everything, APPLICATIONS // 10)), rng, served.clock)

    async def main() -> None:
        async with opened(served.database) as store:
            first, second = [await new_client(store, now=served.clock.now()) for _ in range(2)]
            sent = asyncio.Event()
            reporting = [asyncio.create_task(t.report_labels(store, sent)) for t in (one, other)]
            await asyncio.gather(
                *(send(one, first, url) for url in served.urls for _ in range(CONNECTIONS)),
                *(send(other, second, url) for url in served.urls),
            )
            sent.set()
            await asyncio.gather(*reporting)
            for traffic, client in ((one, first), (other, second)):
                verdicts = {
                    name: found.verdict for name, found in (await stored(store, client.number)).items()
                }
                assert {name: verdict[1:] for name, verdict in verdicts.items()} == traffic.answers
                history = await exported(store, client.number)
                source = write_lines(tmp_path / f"{client.number}.jsonl", history)
                assert not differences(linked, verdicts, scored(linked, source))
                if traffic is one:
                    assert_everything_happened(linked, list(verdicts.values()), history)

    asyncio.run(main())
