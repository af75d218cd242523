"""The command that explains one record."""

import io
import json
import math
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from identity_use import bodies
from program import Captured, run
from scoring_model.scorer import Scorer


@pytest.fixture(scope="module")
def bodies_of_history(invented: Path) -> list[dict[str, object]]:
    """Some records of the history, as bodies."""
    return bodies(pq.read_table(invented).slice(2000, 30))


def written(path: Path, body: object) -> Path:
    """A file that holds a value as JSON."""
    path.write_text(json.dumps(body, default=str), encoding="utf-8")
    return path


def test_what_is_explained_is_what_is_decided(
    capsys: Captured, sealed: Path, invented: Path, bodies_of_history: list[dict[str, object]], tmp_path: Path
) -> None:
    """Score, margin, reasons and row are those of the scorer, history included; contributions sum to the margin."""
    scorer = Scorer.load(sealed)
    history = pq.read_table(invented).slice(0, 2000)
    past = tmp_path / "past.parquet"
    pq.write_table(history, past)
    linked = 0
    for body in bodies_of_history[:6]:
        code, said, error = run(
            capsys, "explain-record", sealed, written(tmp_path / "r.json", body), "--history", past, "--json"
        )
        assert code == 0, error
        shown = json.loads(said)
        decision = scorer.score(body, history=history)
        assert shown["scoringScore"] == decision.score
        assert shown["scoringOutcome"] == decision.outcome.value
        assert shown["margin"].hex() == decision.margin.hex()
        assert shown["reasonCodes"] == [reason.code for reason in decision.reasons]
        added = math.fsum(feature["contribution"] for feature in shown["features"])
        assert shown["base"] + added == pytest.approx(shown["margin"], abs=1e-9)
        assert sorted(f["name"] for f in shown["features"]) == sorted(scorer.matrix.names)
        sizes = [abs(f["contribution"]) for f in shown["features"]]
        assert sizes == sorted(sizes, reverse=True)
        counts = [
            f["value"]
            for f in shown["features"]
            if f["name"].startswith("link_") and f["name"].endswith("_records")
        ]
        linked += any(count > 0 for count in counts)
    assert linked > 0


def test_people_read_values_sentences_and_inputs(
    capsys: Captured, sealed: Path, bodies_of_history: list[dict[str, object]], tmp_path: Path
) -> None:
    """Every feature asked for has its line with its value, its sentence and what it is made of; the rest is summed."""
    path = written(tmp_path / "r.json", bodies_of_history[0] | {"firstName": "Zoë"})
    code, said, _ = run(capsys, "explain-record", sealed, path, "--top", "0")
    assert code == 0
    scorer = Scorer.load(sealed)
    for feature in scorer.matrix.features:
        assert f"{feature.name} = " in said
        assert feature.sentence in said
    assert "first_name_length = 3 (characters)" in said
    assert "firstName: Zoë" in said
    _, few, _ = run(capsys, "explain-record", sealed, path, "--top", "3")
    assert few.count(" = ") - 1 == 3
    assert f"the {len(scorer.matrix.features) - 3} other features together" in few


def test_a_record_comes_from_standard_input(
    capsys: Captured,
    monkeypatch: pytest.MonkeyPatch,
    sealed: Path,
    bodies_of_history: list[dict[str, object]],
    tmp_path: Path,
) -> None:
    """`-` reads what a file would hold."""
    body = bodies_of_history[0]
    from_file = run(capsys, "explain-record", sealed, written(tmp_path / "r.json", body))
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(json.dumps(body, default=str).encode())))
    assert run(capsys, "explain-record", sealed, "-") == from_file
    assert from_file[0] == 0


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[1]", "must hold one object"),
        ('{"a": ', "must be JSON"),
        ('{"dob": "canary", "dob": "canary"}', "duplicate fields: dob"),
        (f"{'[' * 100_000}{']' * 100_000}", "is nested too deeply"),
        ('{"eventTime": "2025-01-01T00:00:00Z", "dob": "canary", "firstName": 7}', "firstName: must be text"),
    ],
)
def test_what_is_no_record_is_refused_without_repeating_it(
    capsys: Captured, sealed: Path, tmp_path: Path, text: str, message: str
) -> None:
    """The error lists all broken rules and no values of the record."""
    path = tmp_path / "r.json"
    path.write_text(text, encoding="utf-8")
    code, said, error = run(capsys, "explain-record", sealed, path)
    assert (code, said) == (1, "")
    assert message in error
    assert "canary" not in error
    if "7" in text:
        assert "dob: " in error


def test_a_record_is_utf_8(capsys: Captured, sealed: Path, tmp_path: Path) -> None:
    """Text in another encoding is an error that names the file."""
    path = tmp_path / "r.json"
    path.write_bytes('{"firstName": "Zoë"}'.encode("latin-1"))
    code, said, error = run(capsys, "explain-record", sealed, path)
    assert (code, said) == (1, "")
    assert f"{path}: must be UTF-8" in error


def test_an_absent_file_is_wrong_usage(capsys: Captured, sealed: Path, tmp_path: Path) -> None:
    """As everywhere: exit code 2."""
    assert run(capsys, "explain-record", sealed, tmp_path / "absent.json")[0] == 2
