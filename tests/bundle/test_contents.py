"""A real bundle: every changed, missing or additional file is refused, and it contains no code."""

import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from scoring_model.bundle import BundleError, Contents, read_bundle
from scoring_model.bundle.codec import json_bytes, npz_bytes, read_json, read_npz
from scoring_model.bundle.contents import DECIDING, FEATURES, REASONS
from scoring_model.bundle.errors import (
    AlteredFile,
    ContentInvalid,
    FeaturesUnknown,
    GoldenMismatch,
    ManifestInvalid,
    MissingFile,
    NotABundle,
    SignatureInvalid,
    SignatureMissing,
)
from scoring_model.bundle.feature_file import features_json, read_matrix
from scoring_model.bundle.writer import write_bundle
from scoring_model.decision.rules import Policy
from scoring_model.decision.scale import ScoreScale
from scoring_model.features import FeatureMatrix, KeySettings, fingerprint
from scoring_model.history import COUNT_KINDS, STATISTICS, Amount
from scoring_model.scorer import Scorer
from scoring_model.training.run import Training

FILES = (
    *DECIDING,
    "card.md",
    "configuration.json",
    "evaluation.json",
    "profile.json",
    "reference_days.npz",
    "score_counts.json",
)
PICKLES = (b"\x80\x02", b"\x80\x03", b"\x80\x04", b"\x80\x05", b"c", b"(")


@pytest.fixture
def copy(sealed: Path, tmp_path: Path) -> Path:
    """A copy of the bundle, to be broken."""
    return Path(shutil.copytree(sealed, tmp_path / "copy"))


def reseal(
    sealed: Path, out: Path, files: dict[str, bytes], key: Ed25519PrivateKey | None = None, **fields: Any
) -> Path:
    """Seal altered files under the old manifest's claims, as somebody with the signing key could."""
    old = read_bundle(sealed)
    return write_bundle(out, {**old.files, **files}, replace(old.manifest, **fields), signing_key=key)


def test_the_files_are_those_that_are_known(sealed: Path) -> None:
    """A bundle holds the deciding files, the describing ones, its manifest, and nothing else."""
    assert {path.name for path in sealed.iterdir()} == {*FILES, "manifest.json"}


@pytest.mark.parametrize("name", [*FILES, "manifest.json"])
def test_one_byte_is_enough(copy: Path, name: str) -> None:
    """A byte changed in the middle of any file is refused with the name of the file."""
    content = bytearray((copy / name).read_bytes())
    content[len(content) // 2] ^= 0x01
    (copy / name).write_bytes(content)
    with pytest.raises((AlteredFile, ManifestInvalid), match=name.split(".")[0]):
        Scorer.load(copy)


@pytest.mark.parametrize("name", [*FILES, "manifest.json"])
def test_a_missing_file_is_named(copy: Path, name: str) -> None:
    """A missing file is refused by name."""
    (copy / name).unlink()
    with pytest.raises((MissingFile, NotABundle), match=name):
        Scorer.load(copy)


def moved_scale(contents: Contents) -> dict[str, bytes]:
    """The files of a bundle that gives other scores."""
    rules = contents.rules
    scale = ScoreScale(cuts=rules.scale.cuts + 0.25, extrapolated_from=rules.scale.extrapolated_from)
    return replace(contents, rules=replace(rules, scale=scale)).to_files()


def moved_policy(contents: Contents) -> dict[str, bytes]:
    """The files of a bundle that gives other outcomes, with its golden rows made to agree."""
    rules = contents.rules
    policy = Policy(step_up_from=1, fail_from=2, promises=rules.policy.promises)
    other = replace(rules, policy=policy)
    golden = replace(contents.golden, decisions=other.decide(contents.golden.decisions.margins))
    return replace(contents, rules=other, golden=golden).to_files()


def other_features(change: Callable[[Any], object]) -> Callable[[Contents], dict[str, bytes]]:
    """Features whose fitted state is another one."""

    def alter(contents: Contents) -> dict[str, bytes]:
        plain = read_json(contents.to_files()[FEATURES])
        change(plain["state"])
        return {FEATURES: json_bytes(plain)}

    return alter


# Another category is seen on the committed records; an order of categories and a count of a name table are not.
other_state = other_features(lambda state: state["vocabularies"]["address.country"].insert(0, "AQ"))
other_order = other_features(lambda state: state["vocabularies"]["signals.channel"].reverse())
other_trigram = other_features(lambda state: state["names"].update({max(state["names"]): 10**6}))


def other_share(contents: Contents) -> dict[str, bytes]:
    """Reasons that are shown from another share on."""
    plain = read_json(contents.to_files()[REASONS])
    return {REASONS: json_bytes({**plain, "share": 0.25})}


def other_configuration(contents: Contents) -> dict[str, bytes]:
    """A configuration that was not the one of the training."""
    return {"configuration.json": b"{}\n"}


@pytest.mark.parametrize(
    ("alter", "error", "text"),
    [
        (moved_scale, GoldenMismatch, "scores in"),
        (other_state, FeaturesUnknown, "does not compute the features"),
        (other_order, ManifestInvalid, "model_version: is not that of the files"),
        (other_trigram, ManifestInvalid, "model_version: is not that of the files"),
        (moved_policy, ManifestInvalid, "policy_version: is not that of the files"),
        (other_share, ManifestInvalid, "policy_version: is not that of the files"),
        (other_configuration, ManifestInvalid, "configuration_sha256: is not that of the files"),
    ],
)
def test_altered_files_sealed_anew_are_refused(
    alter: Callable[[Contents], dict[str, bytes]],
    error: type[BundleError],
    text: str,
    sealed: Path,
    training: Training,
    tmp_path: Path,
) -> None:
    """A seal over other files is sound, and yet the bundle does not pass for the one that it was."""
    path = reseal(sealed, tmp_path / "altered", alter(training.bundle.contents))
    read_bundle(path)
    with pytest.raises(error, match=text):
        Scorer.load(path)


@pytest.mark.parametrize("name", DECIDING)
def test_a_sealed_file_of_another_kind_is_named(sealed: Path, tmp_path: Path, name: str) -> None:
    """A deciding file that holds something else, or is not there at all, is refused by name."""
    path = reseal(sealed, tmp_path / "other", {name: b'{"unheard": [1]}'})
    with pytest.raises(ContentInvalid, match=name):
        Scorer.load(path)
    whole = read_bundle(sealed)
    files = {n: content for n, content in whole.files.items() if n != name}
    with pytest.raises(ContentInvalid, match=name):
        Contents.of(replace(whole, files=files))


def test_a_cycle_in_sealed_trees_is_refused(sealed: Path, tmp_path: Path) -> None:
    """Loading refuses trees with a cycle, by file, tree and split."""
    trees = read_npz(read_bundle(sealed).files["trees.npz"])
    inner = int(np.argmax(trees["right"] >= 0))
    right = trees["right"].copy()
    right[inner] = inner
    path = reseal(sealed, tmp_path / "other", {"trees.npz": npz_bytes({**trees, "right": right})})
    with pytest.raises(ContentInvalid, match=rf"^trees.npz: .*split {inner} leads back .* a cycle"):
        Scorer.load(path)


def test_a_cycle_in_a_sealed_graph_is_refused(sealed: Path, tmp_path: Path) -> None:
    """So is a graph whose first split leads back to itself, by the runtime."""
    graph = onnx.load_from_string(read_bundle(sealed).files["model.onnx"])
    trees = next(node for node in graph.graph.node if node.op_type == "TreeEnsemble")
    attributes = {attribute.name: attribute for attribute in trees.attribute}
    attributes["nodes_truenodeids"].ints[0] = 0
    attributes["nodes_trueleafs"].ints[0] = 0
    path = reseal(sealed, tmp_path / "other", {"model.onnx": graph.SerializeToString()})
    with pytest.raises(ContentInvalid, match=r"^model.onnx: "):
        Scorer.load(path)


def test_only_the_right_key_opens_a_signed_bundle(
    training: Training, sealed: Path, key: Ed25519PrivateKey, tmp_path: Path
) -> None:
    """The right public key loads it, another one and none at all on the bundle are refused."""
    path = training.bundle.save(tmp_path / "signed", signing_key=key)
    assert Scorer.load(path, public_key=key.public_key()).manifest.name == "identity"
    with pytest.raises(SignatureInvalid):
        Scorer.load(path, public_key=Ed25519PrivateKey.generate().public_key())
    with pytest.raises(SignatureMissing):
        Scorer.load(sealed, public_key=key.public_key())


def test_nothing_is_pickled(sealed: Path) -> None:
    """No file begins as a pickle does, and every array loads with pickle forbidden."""
    for path in sealed.iterdir():
        assert not path.read_bytes().startswith(PICKLES), path.name
        if path.suffix == ".npz":
            with np.load(path, allow_pickle=False) as arrays:
                assert all(arrays[name].dtype.kind != "O" for name in arrays.files)


def test_contents_round_trip(training: Training, sealed: Path) -> None:
    """Files that are read and written again have the same bytes."""
    files = read_bundle(sealed).files
    again = Contents.of(read_bundle(sealed))
    assert again.to_files() == {name: files[name] for name in DECIDING}
    assert again.schema == training.bundle.contents.schema


def test_an_amount_is_kept(training: Training) -> None:
    """What links sum, and in which unit, is read as it was written; of no amount nothing is written."""
    contents = training.bundle.contents
    assert "amount" not in features_json(contents.schema, contents.features)["links"]
    settings, state = contents.features.settings, contents.features.state
    links = replace(settings.links, amount=Amount(signal="formSeconds", decimals=1))
    summing = FeatureMatrix(replace(settings, links=links), state)
    written = json_bytes(features_json(contents.schema, summing))
    again = read_matrix(read_json(written))
    assert again.settings.links.amount == links.amount
    assert again.names == summing.names
    assert json_bytes(features_json(contents.schema, again)) == written


def test_all_that_is_counted_under_links_is_kept(training: Training) -> None:
    """Delayed windows, counts, amounts, statistics and what differs under one key are read as they were written."""
    contents = training.bundle.contents
    settings, state = contents.features.settings, contents.features.state
    links = replace(
        settings.links,
        amounts=(Amount(signal="formSeconds", decimals=1), Amount(signal="emailAgeDays", decimals=0)),
        counts=COUNT_KINDS,
        statistics=STATISTICS,
        above=5,
        delay=86_400_000_000,
        delayed_windows=(86_400_000_000,),
        by_key={
            "device": KeySettings(windows=(3_600_000_000,), amounts=("emailAgeDays",), statistics=("z",))
        },
    )
    counting = FeatureMatrix(replace(settings, links=links), state)
    written = json_bytes(features_json(contents.schema, counting))
    again = read_matrix(read_json(written))
    assert again.settings.links == links
    assert again.names == counting.names
    assert fingerprint(again) == fingerprint(counting)
    assert json_bytes(features_json(contents.schema, again)) == written


def test_the_catalogue_is_written_in_words(sealed: Path, scorer: Scorer) -> None:
    """`features.json` names every column with its sentence, and `reasons.json` has each in one factor."""
    plain = read_json(read_bundle(sealed).files[FEATURES])
    assert [entry["name"] for entry in plain["catalogue"]] == list(scorer.matrix.names)
    assert all(entry["sentence"].endswith(".") for entry in plain["catalogue"])
    factors = read_json(read_bundle(sealed).files[REASONS])["factors"]
    assert sorted(name for factor in factors for name in factor["features"]) == sorted(scorer.matrix.names)


def test_features_of_another_version_of_the_package_are_refused(sealed: Path, tmp_path: Path) -> None:
    """A catalogue that names other columns than this package makes is refused."""
    plain = read_json(read_bundle(sealed).files[FEATURES])
    known = plain["catalogue"][0]["name"]
    plain["catalogue"][0]["name"] = "name_unheard"
    plain["versions"]["names"] = 1
    reasons = read_bundle(sealed).files[REASONS].replace(f'"{known}"'.encode(), b'"name_unheard"')
    altered = reseal(sealed, tmp_path / "other", {FEATURES: json_bytes(plain), REASONS: reasons})
    with pytest.raises(FeaturesUnknown, match=r"names 2.*names 1.*train a model with this version"):
        Scorer.load(altered)
