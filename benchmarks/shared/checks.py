"""Check the answers of a service: the scorer decides again on each request, from the stored history."""

import json
from collections.abc import Sequence
from pathlib import Path

import pyarrow.parquet as pq

from scoring_model.scorer import Scorer
from scoring_model.service.keys.data_keys import Vault
from scoring_model.service.past.whatif import what_if
from scoring_model.service.store import open_store
from shared.database import Site, secrets_of


async def check_answers(site: Site, scorer: Scorer, answers: Sequence[bytes], *, since: int) -> str:
    """Compare all verdicts since an instant, bit for bit, and answers with 201 with them; exit at a difference."""
    secrets, out = await secrets_of(site.url, site.keyring), Path(site.folder) / "again.parquet"
    store = await open_store(site.url)
    try:
        found = await what_if(store, Vault(site.keyring), secrets, scorer, out, since=since, before=2**63 - 1)
    finally:
        await store.close()
    if found.own_differ or found.own < found.verifications:
        raise SystemExit(f"of {found.verifications} verdicts {found.own_differ} differ; {found.left_out}")
    rows = {
        row.pop("verificationId"): tuple(row.values())
        for row in pq.read_table(out, columns=_SHOWN).to_pylist()
    }
    for answer in map(json.loads, answers):
        if rows.get(answer["id"]) != tuple(answer[name] for name in _SHOWN[1:]):
            raise SystemExit(f"{answer} is not what is stored")
    return f"{found.own} verdicts and {len(answers)} answers are the scorer's own"


_SHOWN = ["verificationId", "scoringScore", "scoringOutcome", "modelVersion", "policyVersion"]
