"""A bundle in memory and its versions."""

import hashlib
from dataclasses import replace
from pathlib import Path

import pytest

from scoring_model.bundle import Bundle, model_version, read_bundle
from scoring_model.bundle.contents import VERSIONED
from scoring_model.bundle.errors import BundleExists
from scoring_model.decision.rules import Policy
from scoring_model.training.run import Training


def test_manifest_says_what_the_files_are(training: Training, sealed: Path) -> None:
    """Versions, hashes and dates of the manifest are those of the files and of the records."""
    read = read_bundle(sealed)
    manifest, bundle = read.manifest, training.bundle
    assert manifest.model_version == bundle.model_version == model_version("identity", read.files)
    assert manifest.policy_version == bundle.contents.policy_version
    configuration = read.files["configuration.json"]
    assert manifest.configuration_sha256 == hashlib.sha256(configuration).hexdigest()
    assert manifest.data["records"] == 24_000
    assert str(manifest.data["from"]) < str(manifest.data["to"]) < str(manifest.data["as_of"])
    assert "scoring-model" in manifest.libraries


def test_the_policy_is_no_part_of_the_models_version(training: Training) -> None:
    """Another policy is the same model under another policy's version."""
    bundle = training.bundle
    policy = Policy(step_up_from=10, fail_from=20)
    rules = replace(bundle.contents.rules, policy=policy)
    other = replace(bundle, contents=replace(bundle.contents, rules=rules))
    assert other.model_version == bundle.model_version
    assert other.contents.policy_version != bundle.contents.policy_version


@pytest.mark.parametrize("name", VERSIONED)
def test_every_file_that_computes_is_part_of_the_version(training: Training, name: str) -> None:
    """A byte more in any file that computes margin, score or probability is another model."""
    files = dict(training.bundle.files)
    assert model_version("identity", {**files, name: files[name] + b" "}) != model_version("identity", files)


def test_equal_bundles_have_equal_bytes_and_none_is_replaced_unasked(
    training: Training, sealed: Path, tmp_path: Path
) -> None:
    """Saving twice gives the same bytes; an existing bundle is replaced only on request."""
    bundle: Bundle = training.bundle
    path = bundle.save(tmp_path / "again")
    for file in sealed.iterdir():
        assert (path / file.name).read_bytes() == file.read_bytes()
    with pytest.raises(BundleExists):
        bundle.save(path)
    assert bundle.save(path, replace=True) == path


def test_a_bundle_shows_what_it_is(training: Training) -> None:
    """Ten lines, and a table in a notebook, name model, thresholds and data; texts are escaped."""
    bundle = replace(training.bundle, name="<b>")
    shown = repr(bundle)
    assert len(shown.splitlines()) == 10
    for text in (bundle.model_version, str(bundle.contents.rules.policy.fail_from), "deviceId", "30d"):
        assert text in shown
    assert "&lt;b&gt;" in bundle._repr_html_()
    assert "<b>" not in bundle._repr_html_()
