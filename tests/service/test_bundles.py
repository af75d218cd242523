"""The shelf of bundles: kept bundles stay, and missing ones are reported."""

import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from scoring_model.bundle import BundleError, Manifest, read_bundle
from scoring_model.bundle.seal import generate_key_pair, load_private_key, load_public_key
from scoring_model.bundle.writer import write_bundle
from scoring_model.service.activation.shelf import BundleShelf, BundlesMissing


@pytest.fixture
def manifest(sealed: Path) -> Manifest:
    """The manifest of the real bundle."""
    return read_bundle(sealed).manifest


def written(source: Path, out: Path, *, policy_version: str) -> Path:
    """The same files, sealed under another policy."""
    old = read_bundle(source)
    return write_bundle(out, old.files, replace(old.manifest, policy_version=policy_version))


def test_a_kept_bundle_is_a_copy_under_its_versions(sealed: Path, manifest: Manifest, tmp_path: Path) -> None:
    """A kept bundle is valid, identical byte for byte, found by its versions, and outlives its source."""
    source = shutil.copytree(sealed, tmp_path / "source")
    shelf = BundleShelf(tmp_path / "new" / "shelf")
    kept = shelf.keep(source)
    shutil.rmtree(source)
    assert kept.name == f"{manifest.model_version}.{manifest.policy_version}"
    assert read_bundle(kept).files == read_bundle(sealed).files
    assert (kept / "manifest.json").read_bytes() == (sealed / "manifest.json").read_bytes()
    assert (
        shelf.find(manifest.model_version)
        == kept
        == shelf.find(manifest.model_version, manifest.policy_version)
    )
    assert [path.name for path in shelf.directory.iterdir()] == [kept.name]


def test_keeping_again_changes_nothing(sealed: Path, tmp_path: Path) -> None:
    """Keeping a bundle again makes no second copy and leaves the first unchanged."""
    shelf = BundleShelf(tmp_path)
    kept = shelf.keep(sealed)
    before = kept.stat().st_ino
    assert (shelf.keep(sealed), shelf.keep(kept)) == (kept, kept)
    assert (kept.stat().st_ino, len(list(tmp_path.iterdir()))) == (before, 1)


def test_what_a_training_may_replace_is_copied(sealed: Path, manifest: Manifest, tmp_path: Path) -> None:
    """A bundle on the shelf under another name is kept under its own, and found after that name is removed."""
    named = shutil.copytree(sealed, tmp_path / "first")
    shelf = BundleShelf(tmp_path)
    assert shelf.find(manifest.model_version) == named
    kept = shelf.keep(named)
    assert kept != named
    shutil.rmtree(named)
    assert shelf.find(manifest.model_version) == kept


def test_signatures_are_kept_and_asked_for(sealed: Path, tmp_path: Path) -> None:
    """A copy carries the signature; an unsigned bundle is refused where a key is given, and nothing is kept."""
    generate_key_pair(tmp_path / "private.pem", tmp_path / "public.pem")
    public = load_public_key(tmp_path / "public.pem")
    shelf = BundleShelf(tmp_path / "shelf")
    with pytest.raises(BundleError, match="not signed"):
        shelf.keep(sealed, public_key=public)
    assert not shelf.directory.exists()
    signed, bundle = tmp_path / "signed", read_bundle(sealed)
    shutil.copytree(sealed, signed)
    signature = load_private_key(tmp_path / "private.pem").sign(bundle.manifest.to_bytes())
    (signed / "manifest.sig").write_bytes(signature)
    assert read_bundle(shelf.keep(signed, public_key=public), public_key=public).signed


def test_one_model_under_two_policies(sealed: Path, manifest: Manifest, tmp_path: Path) -> None:
    """Two policies of one model are both kept; both versions find each, the model version finds either."""
    shelf = BundleShelf(tmp_path / "shelf")
    other = shelf.keep(written(sealed, tmp_path / "other", policy_version="other"))
    kept = shelf.keep(sealed)
    assert shelf.find(manifest.model_version, "other") == other
    assert shelf.find(manifest.model_version, manifest.policy_version) == kept
    assert shelf.find(manifest.model_version) in (kept, other)
    assert shelf.find(manifest.model_version, "third") is None


def test_missing_bundles_are_named_all_at_once(sealed: Path, manifest: Manifest, tmp_path: Path) -> None:
    """Every missing pair of versions is reported, and nothing else."""
    shelf = BundleShelf(tmp_path)
    shelf.keep(sealed)
    own = (manifest.model_version, manifest.policy_version)
    shelf.require([own])
    with pytest.raises(BundlesMissing) as caught:
        shelf.require([("b-2", "p"), own, ("a-1", "p"), (manifest.model_version, "p")])
    assert caught.value.versions == (("a-1", "p"), ("b-2", "p"), (manifest.model_version, "p"))
    assert all(
        f"{model} with policy {policy}" in str(caught.value) for model, policy in caught.value.versions
    )


def test_an_unsound_bundle_is_not_kept(sealed: Path, tmp_path: Path) -> None:
    """A changed byte is refused with the name of the file."""
    broken = shutil.copytree(sealed, tmp_path / "broken")
    (broken / "scale.json").write_bytes(b"{}")
    with pytest.raises(BundleError, match=r"scale\.json"):
        BundleShelf(tmp_path / "shelf").keep(broken)
    assert not (tmp_path / "shelf").exists()


def test_a_foreign_thing_under_the_name_is_not_replaced(
    sealed: Path, manifest: Manifest, tmp_path: Path
) -> None:
    """A path of a bundle with other content is refused by its path and left unchanged."""
    place = tmp_path / f"{manifest.model_version}.{manifest.policy_version}"
    place.write_text("mine")
    with pytest.raises(BundleError, match="is not the bundle"):
        BundleShelf(tmp_path).keep(sealed)
    assert place.read_text() == "mine"


def test_a_shelf_that_can_not_be_written(
    sealed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An unwritable shelf serves bundles under any name and leaves no partial files; a missing bundle is an error."""
    full, empty = BundleShelf(tmp_path / "full"), BundleShelf(tmp_path / "empty")
    named = shutil.copytree(sealed, full.directory / "first")

    def refuse(*_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(
        "scoring_model.service.activation.shelf.write_synced", refuse
    )  # root may write anywhere
    assert full.keep(sealed) == named
    with pytest.raises(PermissionError):
        empty.keep(sealed)
    assert [path.name for path in full.directory.iterdir()] == ["first"]
    assert list(empty.directory.iterdir()) == []


@pytest.mark.parametrize("name", ["model.onnx", "scale.json"])
def test_a_torn_copy_is_replaced(sealed: Path, tmp_path: Path, name: str) -> None:
    """Keeping an intact bundle mends the copy on the shelf, also where the name of a file is gone."""
    shelf = BundleShelf(tmp_path)
    kept = shelf.keep(sealed)
    (kept / name).write_bytes((kept / name).read_bytes()[:-1])
    assert shelf.keep(sealed) == kept
    (kept / name).unlink()
    assert shelf.keep(sealed) == kept
    assert read_bundle(kept).files == read_bundle(sealed).files
    assert [path.name for path in tmp_path.iterdir()] == [kept.name]
