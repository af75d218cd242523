"""A training on mail addresses, phone numbers and IP addresses: the model uses them, the bundle holds none."""

import json
import re
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from identity_use import bodies, relaxed, shared, train_bundle
from scoring_model.records.reading import read_records
from scoring_model.scorer import Scorer
from scoring_model.scorer.frames import score_table

SIGNALS = """\
signals:
  email: {type: email}
  ip: {type: ip}
  phone: {type: phone}
"""
KEYS = """\
    image: [imageUrls]
    mailbox: [signals.email:mailbox]
    network: [signals.ip:net24]
    phone: [signals.phone:e164]
"""
DOMAINS = ("gmail.com", "mail.example", "office.example", "web.de", "yopmail.com")


def texts(place: int, row: dict[str, Any]) -> dict[str, Any]:
    """A row with an address, a number and a network that no other row has."""
    local = f"{row['firstName'] or 'x'}.{row['lastName'] or 'x'}{place}".replace(" ", "")
    return {
        **row,
        "signals.email": f"{local}@{DOMAINS[place % 5]}",
        "signals.ip": f"81.{place % 3}.{place // 250}.{place % 250}",
        "signals.phone": f"+44 7400 {100000 + place}",
    }


@pytest.fixture(scope="module")
def rows(small: Path) -> list[dict[str, Any]]:
    """Records with texts to read."""
    return [texts(place, row) for place, row in enumerate(pq.read_table(small).to_pylist())]


@pytest.fixture(scope="module")
def bundle(rows: list[dict[str, Any]], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A bundle trained on them."""

    def make(out: Path) -> None:
        source = tmp_path_factory.mktemp("texts") / "records.jsonl"
        source.write_text("".join(json.dumps(row, default=str) + "\n" for row in rows), encoding="utf-8")
        text = relaxed().replace("signals:\n", SIGNALS).replace("    image: [imageUrls]\n", KEYS)
        train_bundle(source, text.replace("rounds: 30", "rounds: 12"), out)

    return shared(tmp_path_factory, "texts", make)


def test_a_bundle_holds_parts_that_many_share_and_no_value(bundle: Path) -> None:
    """Domains, countries and networks of many persons are there; addresses and numbers are not, in any file."""
    written = b"\n".join(path.read_bytes() for path in sorted(bundle.iterdir())).decode("latin-1")
    state = json.loads((bundle / "features.json").read_text(encoding="utf-8"))["state"]
    assert set(state["vocabularies"]["signals.email:domain"]) == set(DOMAINS)
    assert state["vocabularies"]["signals.phone:country"] == ["GB"]
    assert set(state["vocabularies"]["signals.ip:network"]) == {f"81.{i}.0.0/16" for i in range(3)}
    assert "yopmail.com" in state["mail"]["disposable"]
    assert re.findall(r"[\w.]+@[\w.]+\.\w+", written) == []
    assert re.findall(r"(?<![\d.])(?:\+?44 ?|0)?7400 ?1\d{5}(?!\d)", written) == []
    assert re.findall(r"81\.\d+\.\d+\.\d+(?!/16|\d)", written) == []


def test_the_bundle_scores_one_record_as_many(bundle: Path, rows: list[dict[str, Any]]) -> None:
    """It loads, golden rows and fingerprint included, and a record alone has the decision that it has in a table."""
    scorer = Scorer.load(bundle)
    assert {"email_domain", "phone_kind", "ip_network", "link_mailbox_30d_records"} <= set(
        scorer.matrix.names
    )
    odd = [{**row, "signals.email": "no address", "signals.phone": None} for row in rows[60:90]]
    table = pa.Table.from_pylist([*rows[:60], *odd])
    scored = score_table(scorer, read_records(table, scorer.contents.schema, labelled=False).table)
    alone = [
        scorer.score(body, history=table, allow_repeats=True)
        for body in bodies(table.take(list(range(0, 90, 4))))
    ]
    assert [one.margin for one in alone] == scored.decisions.margins[::4].tolist()
    assert [one.reasons for one in alone] == scored.reasons[::4]
