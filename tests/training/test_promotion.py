"""Promotion in an MLflow store: the alias moves with the evidence, or nothing changes."""

import hashlib
import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from identity_use import with_thresholds
from program import Captured, run
from scoring_model.bundle import read_bundle
from scoring_model.training.mlflow_runs import BUNDLE, MODEL, RunRecord, client_of, files_below
from scoring_model.training.run import Training
from scoring_model.training.tracking import track

GATES = (
    "gates: {ranking: {difference: roc_auc, above: -0.5}, caught: {difference: missed_fraud, below: 0.01}}\n"
)
NAME = "identity"


@dataclass(frozen=True)
class Registry:
    """A store with three registered bundles."""

    uri: str
    bundles: Mapping[str, Path]
    records: Path


def registered(bundle: Path, folder: Path, number: int) -> str:
    """Log a bundle as the run of a training; return the URI of the store."""
    manifest = read_bundle(bundle).manifest
    record = RunRecord(
        key=f"run-{number}",
        use=manifest.name,
        name=str(number),
        started=number * 1000,
        ended=number * 1000 + 1,
        params={},
        metrics={},
        tags={"bundle.seal": manifest.seal},
        dataset={"name": "records", "digest": "ab", "source_type": "table", "source": "{}"},
        artifacts=files_below(bundle, f"{MODEL}/{BUNDLE}/"),
    )
    return track(record, folder=folder).uri


@pytest.fixture(scope="module")
def registry(
    training: Training,
    sealed: Path,
    frame: pa.Table,
    weak: Path,
    tracking_folder: Callable[[Path], Path],
    tmp_path_factory: pytest.TempPathFactory,
) -> Registry:
    """A first bundle, one with the same model that catches more frauds, and one that knows dates alone."""
    folder = tmp_path_factory.mktemp("registry")
    policy = training.bundle.contents.rules.policy
    stricter = folder / "stricter"
    with_thresholds(training.bundle, step_up_from=100, fail_from=policy.fail_from).save(stricter)
    bundles = {"first": sealed, "stricter": stricter, "weak": weak}
    runs = tracking_folder(folder / "runs")
    uris = {registered(path, runs, number) for number, path in enumerate(bundles.values(), 1)}
    records = folder / "records.parquet"
    pq.write_table(frame.slice(14_000, 3_000), records)
    return Registry(uris.pop(), bundles, records)


def promoted(
    capsys: Captured, registry: Registry, bundle: str, gates: str, *more: object
) -> tuple[int, str, str]:
    """Run the command on records that the training may have seen."""
    path = registry.records.with_name("gates.yaml")
    path.write_text(gates + "allow_trained: true\n", encoding="utf-8")
    options = ["--gate", path, "--tracking-uri", registry.uri, *more]
    return run(capsys, "promote", registry.bundles[bundle], registry.records, *options)


def champion(registry: Registry) -> str | None:
    """The number of the version with the alias."""
    number = client_of(registry.uri).get_registered_model(NAME).aliases.get("champion")
    return None if number is None else str(number)


def test_promotion_from_the_first_to_the_better(capsys: Captured, registry: Registry, tmp_path: Path) -> None:
    """The first needs a word; then the better one replaces it with its evidence, and the same one is refused."""
    client_of(registry.uri).delete_registered_model_alias(NAME, "champion")
    level = "gates: {level: {figure: roc_auc, above: 0.5}}\n"
    code, _, error = promoted(capsys, registry, "first", level)
    assert (code, champion(registry)) == (1, None)
    assert "no version of identity has the alias champion; --first" in error
    code, said, error = promoted(capsys, registry, "first", level, "--first")
    assert (code, champion(registry)) == (0, "1"), error
    code, _, error = promoted(capsys, registry, "stricter", GATES, "--first")
    assert (code, champion(registry)) == (1, "1")
    assert "version 1 of identity is the champion; leave out --first" in error
    code, said, error = promoted(capsys, registry, "stricter", GATES, "--json", tmp_path / "evidence.json")
    assert (code, champion(registry)) == (0, "2"), said + error
    assert "version 2 of identity is the champion; evidence: promotion/" in said
    client = client_of(registry.uri)
    version = client.get_model_version(NAME, "2")
    artifact = client.download_artifacts(
        str(version.run_id), version.tags["promotion.evidence"], str(tmp_path)
    )
    text = Path(artifact).read_bytes()
    assert hashlib.sha256(text).hexdigest() == version.tags["promotion.evidence_sha256"]
    report = version.tags["promotion.evidence"].removesuffix("json") + "html"
    html = Path(client.download_artifacts(str(version.run_id), report, str(tmp_path))).read_text()
    assert "The challenger may be promoted." in html
    evidence = json.loads(text)
    assert evidence == json.loads((tmp_path / "evidence.json").read_text())
    assert evidence["promotion"] == {"name": NAME, "version": "2", "champion": "1"}
    assert evidence["gates"]["improved"] == ["missed_fraud"]
    assert version.tags["promotion.champion"] == "1"
    code, _, error = promoted(capsys, registry, "stricter", GATES)
    assert code == 1
    assert "version 2 of identity is the champion already" in error


@pytest.mark.parametrize(
    ("gates", "code"),
    [
        ("gates: {ranking: {difference: roc_auc, above: -0.5}}\n", 10),
        (GATES + "min_days: 3000\n", 11),
    ],
)
def test_a_refusal_changes_nothing(capsys: Captured, registry: Registry, gates: str, code: int) -> None:
    """Nothing better and too few days leave the alias and the version as they were."""
    client = client_of(registry.uri)
    client.set_registered_model_alias(NAME, "champion", "1")
    before = client.get_model_version(NAME, "2").tags
    found, said, error = promoted(capsys, registry, "stricter", gates)
    assert (found, champion(registry)) == (code, "1"), error
    assert "version 2 of identity is not promoted" in said
    assert client.get_model_version(NAME, "2").tags == before


def test_a_bundle_that_is_not_registered_is_refused(
    capsys: Captured, registry: Registry, training: Training, tmp_path: Path
) -> None:
    """The error names the seal that no version has."""
    with_thresholds(training.bundle, step_up_from=99, fail_from=700).save(tmp_path / "other")
    bundles = {**registry.bundles, "other": tmp_path / "other"}
    code, _, error = promoted(capsys, Registry(registry.uri, bundles, registry.records), "other", GATES)
    assert code == 1
    assert f"has the seal of the bundle: {read_bundle(tmp_path / 'other').manifest.seal}" in error


@pytest.mark.usefixtures("undrawn")
def test_looks_decide_when_they_can(capsys: Captured, registry: Registry, tmp_path: Path) -> None:
    """An equal recall of few frauds has to wait; a much better ranking promotes, with the looks as evidence."""
    client = client_of(registry.uri)
    client.set_registered_model_alias(NAME, "champion", "1")
    ranking = "gates: {ranking: {difference: roc_auc, above: -0.5}}\n"
    looks = tmp_path / "looks.json"
    code, said, error = promoted(capsys, registry, "stricter", ranking, "--looks", looks)
    assert (code, champion(registry)) == (11, "1"), error
    assert re.search(r"wait: [0-9,]+ more matured frauds", said)
    assert len(json.loads(looks.read_text())["looks"]) == 1
    other = ranking + "looks: {figure: roc_auc, gain: 0.2}\n"
    code, _, error = promoted(capsys, registry, "stricter", other, "--looks", looks)
    assert (code, champion(registry)) == (1, "1")
    assert "the earlier looks have another plan: start with a new file of looks" in error
    client.set_registered_model_alias(NAME, "champion", "3")
    code, said, error = promoted(capsys, registry, "first", other, "--looks", tmp_path / "new.json")
    assert (code, champion(registry)) == (0, "1"), said + error
    assert "promote: after " in said
    version = client.get_model_version(NAME, "1")
    evidence = Path(
        client.download_artifacts(str(version.run_id), version.tags["promotion.evidence"], str(tmp_path))
    )
    assert json.loads(evidence.read_text())["looks"] == json.loads((tmp_path / "new.json").read_text())


@pytest.mark.usefixtures("undrawn")
def test_a_hopeless_challenger_is_given_up(capsys: Captured, registry: Registry, tmp_path: Path) -> None:
    """One that could not show the gain any more is kept out; whatever the gates say, the exit code is not a wait's."""
    client_of(registry.uri).set_registered_model_alias(NAME, "champion", "1")
    gates = "gates: {promises: {promise: all}}\nlooks: {gain: 0.3}\n"
    code, said, error = promoted(capsys, registry, "stricter", gates, "--looks", tmp_path / "looks.json")
    assert (code, champion(registry)) == (10, "1"), said + error
    assert "keep: after " in said


@pytest.mark.parametrize(
    ("text", "message"),
    [("[]", "looks.json: not a file of looks"), ("{", "looks.json: not a file of looks: ")],
)
def test_other_files_are_not_looks(
    capsys: Captured, registry: Registry, tmp_path: Path, text: str, message: str
) -> None:
    """A file that holds something else is refused and left as it is."""
    client_of(registry.uri).set_registered_model_alias(NAME, "champion", "1")
    (tmp_path / "looks.json").write_text(text)
    code, _, error = promoted(capsys, registry, "stricter", GATES, "--looks", tmp_path / "looks.json")
    assert (code, message in error) == (1, True), error
    assert (tmp_path / "looks.json").read_text() == text


@pytest.mark.usefixtures("undrawn")
def test_a_first_champion_needs_no_looks(capsys: Captured, registry: Registry, tmp_path: Path) -> None:
    """There is nothing to compare with."""
    code, _, error = promoted(capsys, registry, "first", GATES, "--first", "--looks", tmp_path / "looks.json")
    assert code == 1
    assert "looks compare with a champion" in error


@pytest.fixture
def retagged(registry: Registry) -> Iterator[Callable[[str], None]]:
    """Gives a tag of the first version, whose registry others use, another value until the end of the test."""
    client, changed = client_of(registry.uri), []
    tags = dict(client.get_model_version(NAME, "1").tags)

    def retag(tag: str) -> None:
        changed.append(tag)
        client.set_model_version_tag(NAME, "1", tag, "another")

    yield retag
    for tag in changed:
        client.delete_model_version_tag(NAME, "1", tag)
        if tag in tags:
            client.set_model_version_tag(NAME, "1", tag, tags[tag])


@pytest.mark.parametrize("tag", ["bundle.seal", "policy_version"])
def test_a_bundle_that_was_not_registered_is_not_fetched(
    capsys: Captured, registry: Registry, retagged: Callable[[str], None], tmp_path: Path, tag: str
) -> None:
    """Artifacts with an intact seal of their own, but not the one of the version's tags, were exchanged."""
    retagged(tag)
    uri = ("--tracking-uri", registry.uri)
    code, _, error = run(capsys, "bundles", "fetch", f"models:/{NAME}/1", *uri, "--out", tmp_path / "shelf")
    assert (code, error.count("\n"), (tmp_path / "shelf").exists()) == (1, 1, False)
    assert "version 1 of identity: its artifacts are not the registered bundle" in error
    assert f"{tag} " in error


def test_a_registered_bundle_is_fetched_checked(capsys: Captured, registry: Registry, tmp_path: Path) -> None:
    """By alias or number, under its versions; without a signature that is asked for it is not kept."""
    manifest = read_bundle(registry.bundles["first"]).manifest
    shelf, uri = tmp_path / "shelf", ("--tracking-uri", registry.uri)
    key = tmp_path / "key.pem"
    key.write_bytes(
        Ed25519PrivateKey.generate()
        .public_key()
        .public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    )
    client_of(registry.uri).set_registered_model_alias(NAME, "blue", "1")
    code, _, error = run(
        capsys, "bundles", "fetch", f"models:/{NAME}@blue", *uri, "--out", shelf, "--public-key", key
    )
    assert (code, "not signed" in error, shelf.exists()) == (1, True, False)
    for model in (f"models:/{NAME}@blue", f"models:/{NAME}/1"):
        code, said, error = run(capsys, "bundles", "fetch", model, *uri, "--out", shelf)
        assert code == 0, error
        assert said.strip() == str(shelf / f"{manifest.model_version}.{manifest.policy_version}")
    assert read_bundle(Path(said.strip())).manifest == manifest
    for wrong in (f"models:/{NAME}@nobody", NAME):
        assert run(capsys, "bundles", "fetch", wrong, *uri, "--out", shelf)[0] == 1
