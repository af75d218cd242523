"""No output, file or log of a training contains a canary of its records."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

from identity_use import bodies, personal_texts, relaxed, write_configuration
from program import Captured
from scoring_model.cli import main
from scoring_model.evaluation.training_digests import DIGESTS_FILE, KEY_FILE
from scoring_model.records import InvalidRecord
from scoring_model.scorer import Scorer

CANARIES = {
    "firstName": "Zqxcanaryfirst",
    "lastName": "Wvkcanarylast",
    "address.line1": "77 Canarystreet",
    "address.city": "Canaryville",
    "externalId": "canary-external",
    "subjectId": "canary-subject",
    "signals.deviceId": "canary-device",
    "signals.emailDomain": "canary.example",
    "dob": "1961-12-13",
}
PERSONS = 4
NUMBER = 31_337.271828


def with_canaries(table: pa.Table, rows: range) -> pa.Table:
    """Put canaries, one apart for each person, into some rows, and one number into the first of them."""
    for name, canary in CANARIES.items():
        cells = table.column(name).to_pylist()
        for place, row in enumerate(rows):
            person = place % PERSONS
            cells[row] = f"{canary[:8]}0{person + 1}" if name == "dob" else f"{canary}{person}"
        table = table.set_column(table.schema.get_field_index(name), name, pa.array(cells, pa.string()))
    ages = table.column("signals.emailAgeDays").to_pylist()
    ages[rows[0]] = NUMBER
    place = table.schema.get_field_index("signals.emailAgeDays")
    return table.set_column(place, "signals.emailAgeDays", pa.array(ages, pa.float64()))


def needles() -> list[bytes]:
    """The canaries in the encodings in which a file could hold them."""
    texts = [*(canary for name, canary in CANARIES.items() if name != "dob"), "1961-12-0", "31337.27"]
    texts += [text.upper() for text in texts] + [text.lower() for text in texts]
    return [text.encode(encoding) for text in texts for encoding in ("utf-8", "utf-16-le", "utf-32-le")]


def files(folder: Path) -> Iterator[Path]:
    """Every file below a folder."""
    return (path for path in folder.rglob("*") if path.is_file())


@pytest.fixture(scope="module")
def data(small: Path) -> pa.Table:
    """Five thousand records, canaries in the burn-in and where it trains."""
    table = pq.read_table(small)
    return with_canaries(with_canaries(table, range(40, 48)), range(1200, 1208))


def test_no_canary_leaves_a_training(
    data: pa.Table, tracking_folder: Callable[[Path], Path], tmp_path: Path, capsys: Captured
) -> None:
    """Bundle, journal, quarantine, evaluation, MLflow's files, output and errors hold no canary.

    What could still test whether a person was in the training, digests with their key, is not among MLflow's files.
    """
    births = data.column("dob").to_pylist()
    births[1210] = "canary-dob"
    spoiled = data.set_column(data.schema.get_field_index("dob"), "dob", pa.array(births, pa.string()))
    pq.write_table(spoiled, tmp_path / "in.parquet")
    config, out = write_configuration(tmp_path, relaxed()), tmp_path / "made" / "bundle"
    train = ["train", str(tmp_path / "in.parquet"), "--config", str(config), "--out", str(out)]
    out.parent.mkdir()
    tracking_folder(out.parent / "tracking")
    assert main([*train, "--threads", "1", "--trials", "2"]) == 0
    quarantine = (tmp_path / "made" / "bundle.training" / "quarantine.csv").read_text()
    assert quarantine.startswith("row,field,rule,detail,recordId,file\n1210,dob,not_a_date,")
    said = capsys.readouterr()
    held = {path: path.read_bytes() for path in files(out.parent)}
    assert len(held) > 20
    held[Path("standard output")], held[Path("standard error")] = said.out.encode(), said.err.encode()
    for path, content in held.items():
        assert not [needle for needle in [*needles(), b"canary-dob"] if needle in content], path
    key = (tmp_path / "made" / "bundle.training" / KEY_FILE).read_bytes()
    assert [path.name for path, content in held.items() if key in content] == [KEY_FILE]
    assert [path.parent.name for path in held if path.name == DIGESTS_FILE] == ["bundle.training"]
    trigrams = json.loads((out / "features.json").read_text())["state"]["names"]
    assert trigrams
    assert not [trigram for trigram in trigrams if trigram.lower() in ("zqx", "qxc", "wvk", "vkc")]


def test_no_persons_value_is_in_the_bundle(data: pa.Table, sealed: Path, frame: pa.Table) -> None:
    """No name longer than a trigram, address, id or image of a record of the burn-in is in any file of a bundle."""
    held = b"\n".join(path.read_bytes() for path in sorted(files(sealed)))
    leaked = [
        text
        for text in personal_texts(frame.slice(0, 1500).to_pylist())
        if len(text) > 7 and text.encode() in held
    ]
    assert leaked == []


def test_no_canary_is_in_what_scoring_writes(
    data: pa.Table, sealed: Path, tmp_path: Path, capsys: Captured
) -> None:
    """Decisions with reasons, the quarantine and all that is said hold no canary, rows torn in two included."""
    few = data.slice(1200, 8)
    lines = [json.dumps(body, default=str) for body in bodies(few)]
    broken = [
        lines[0][:200],
        lines[1].replace('"dob": "1961', '"dob": "canary-device'),
        lines[2],
        lines[2],
        lines[3].replace('"citizenship": "', '"citizenship": "canary-subject'),
        '["Zqxcanaryfirst"]',
    ]
    source, out = tmp_path / "in.jsonl", tmp_path / "out.jsonl"
    source.write_text("\n".join([*lines[4:], *broken]) + "\n")
    score = ["score", str(sealed), str(source), "--out", str(out), "--reasons"]
    assert main(score) == 1
    assert main([*score, "--max-bad-share", "1"]) == 0
    quarantine = (tmp_path / "out.quarantine.csv").read_text()
    assert len(quarantine.splitlines()) > 4
    said = capsys.readouterr()
    held = (quarantine + out.read_text() + said.out + said.err).encode()
    assert not [needle for needle in needles() if needle in held]


def test_a_file_without_a_header_reveals_nothing(
    data: pa.Table, sealed: Path, tmp_path: Path, capsys: Captured
) -> None:
    """Where the first record stands in for the header, the refusal does not repeat it."""
    options = pa.csv.WriteOptions(include_header=False)
    text = data.select(list(CANARIES)).slice(1200, 8)
    pa.csv.write_csv(text, tmp_path / "in.csv", options)
    assert main(["score", str(sealed), str(tmp_path / "in.csv"), "--out", str(tmp_path / "out.csv")]) == 1
    said = capsys.readouterr()
    assert not [needle for needle in needles() if needle in (said.out + said.err).encode()]


def test_an_invalid_record_reveals_nothing(data: pa.Table, scorer: Scorer) -> None:
    """An error about a record names fields and rules, never values."""
    for body in bodies(data.slice(1200, 8)):
        wrong = {
            **body,
            "dob": "canary-device",
            "documentType": "Zqxcanaryfirst",
            "imageUrls": "77 Canarystreet",
        }
        with pytest.raises(InvalidRecord) as caught:
            scorer.score(wrong)
        assert not [needle for needle in needles() if needle in str(caught.value).encode()]
        assert {found.field for found in caught.value.violations} == {"dob", "documentType", "imageUrls"}
