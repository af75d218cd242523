"""The manifest: an exact round trip, and an error with all violations."""

import copy
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scoring_model.bundle.codec import json_bytes, read_json
from scoring_model.bundle.errors import ManifestInvalid, NewerProtocol, UnreleasedProtocol
from scoring_model.bundle.manifest import PROTOCOL, Manifest
from scoring_model.bundle.seal import FileSeal, seal_file, sha256_hex
from scoring_model.decision.document import shape_of

SEALS = {"model.onnx": seal_file(b"graph"), "policy.json": seal_file(b"{}")}
EXAMPLE = Manifest(
    name="sign-up",
    model_version="2026-01",
    policy_version="1a2b",
    feature_fingerprint="f" * 64,
    data={
        "sha256": "d" * 64,
        "records": 10,
        "from": "2024-01-01T00:00:00.000000Z",
        "to": "2024-02-01T00:00:00.000000Z",
    },
    configuration_sha256="c" * 64,
    libraries={"numpy": "2.4.6"},
    files=SEALS,
)
labels = st.from_regex(r"[A-Za-z0-9][A-Za-z0-9._+-]{0,9}", fullmatch=True)
file_names = st.from_regex(r"[A-Za-z0-9_][A-Za-z0-9._-]{0,9}", fullmatch=True)
hashes = st.binary(min_size=32, max_size=32).map(bytes.hex)


def altered(change: Callable[[dict[str, Any]], object]) -> bytes:
    """Return the example's bytes with its fields changed and sealed again, as a forger would."""
    document = read_json(EXAMPLE.to_bytes())
    del document["seal"]
    change(document)
    return json_bytes({**document, "seal": sha256_hex(json_bytes(document))})


def problems(data: bytes) -> str:
    """Return what is wrong with these bytes of a manifest."""
    with pytest.raises(ManifestInvalid) as caught:
        Manifest.from_bytes(data)
    return "\n".join(map(str, caught.value.violations))


@given(
    labels,
    labels,
    hashes,
    st.dictionaries(labels, labels, min_size=1),
    st.dictionaries(file_names, st.builds(FileSeal, hashes, st.integers(0, 2**60)), min_size=1),
    st.dictionaries(
        st.text("abcxyz", min_size=1), st.floats(allow_nan=False, allow_infinity=False) | st.text("é|")
    ),
)
def test_round_trip_is_exact(
    name: str, version: str, fingerprint: str, libraries: Any, files: Any, extra: dict[str, object]
) -> None:
    """Every sound manifest reads back equal, and equal manifests have equal bytes."""
    manifest = replace(
        EXAMPLE,
        name=name,
        model_version=version,
        feature_fingerprint=fingerprint,
        data={**extra, **EXAMPLE.data},
        libraries=libraries,
        files=files,
    )
    data = manifest.to_bytes()
    assert Manifest.from_bytes(data) == manifest
    assert Manifest.from_bytes(data).to_bytes() == data
    assert data.endswith(b"}\n")


@given(st.integers(0, len(EXAMPLE.to_bytes()) - 1), st.integers(1, 255))
def test_every_byte_counts(position: int, mask: int) -> None:
    """One byte changed anywhere in the manifest is refused by name, without any signature."""
    data = bytearray(EXAMPLE.to_bytes())
    data[position] ^= mask
    with pytest.raises((ManifestInvalid, NewerProtocol, UnreleasedProtocol)):
        Manifest.from_bytes(bytes(data))


@pytest.mark.parametrize("length", [0, 1, 100, -1])
def test_a_cut_manifest_is_refused(length: int) -> None:
    """A manifest that ends early is refused, if only its last line feed is lacking."""
    assert problems(EXAMPLE.to_bytes()[:length])


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (lambda d: d.update(colour="red"), "colour: unknown"),
        (lambda d: d.pop("name"), "name: missing"),
        (lambda d: d.update(name=""), "name: must be"),
        (lambda d: d.update(name=3), "name: must be 1 to 100 letters, digits or .* got a number"),
        (lambda d: d.update(model_version="a b"), "model_version: must be"),
        (lambda d: d.update(policy_version=None), "policy_version: must be .* got null"),
        (lambda d: d.update(feature_fingerprint="f" * 63), "feature_fingerprint: must be a SHA-256"),
        (lambda d: d.update(configuration_sha256="F" * 64), "configuration_sha256: must be a SHA-256"),
        (lambda d: d.update(configuration_sha256="g" * 64), "configuration_sha256: must be a SHA-256"),
        (lambda d: d.update(libraries={}), "libraries: must name at least one"),
        (lambda d: d.update(libraries={"numpy": 2}), "libraries.numpy: must be"),
        (lambda d: d.update(files=[]), "files: must be an object, got a list of 0"),
        (lambda d: d["files"].update(x={"sha256": "0" * 64}), "files.x.bytes: missing"),
        *(
            (
                lambda d, size=size: d["files"]["policy.json"].update(bytes=size),
                "policy.json.bytes: must be an int",
            )
            for size in (-1, True, 1.0)
        ),
        (lambda d: d["files"].update(x={"sha256": "0", "bytes": 1}), "files.x.sha256: must be a SHA-256"),
        (lambda d: d["data"].update(records=-1), "data.records: must be an integer"),
        (lambda d: d["data"].pop("sha256"), "data.sha256: missing"),
        (lambda d: d["data"].update(columns=[1]), "data.columns: must be null, a boolean"),
        (lambda d: d["data"].update({"from": 3}), "data.from: must be an instant"),
        (lambda d: d["data"].update({"to": "2023-01-01T00:00:00.000000Z"}), "data.from: must not be later"),
        (lambda d: d.update(protocol=0), "protocol: must be an integer of at least 1"),
        (lambda d: d.update(protocol=True), "protocol: must be an integer of at least 1, got a boolean"),
        (lambda d: d.pop("protocol"), "protocol: must be an integer of at least 1, got null"),
    ],
)
def test_each_violation_names_its_field(change: Callable[[dict[str, Any]], object], expected: str) -> None:
    """A field that breaks its rule is named with the rule, though the manifest is sealed as it is."""
    with pytest.raises(ManifestInvalid, match=expected):
        Manifest.from_bytes(altered(change))


@pytest.mark.parametrize(
    "name",
    [
        *("../x", "a/b", "/etc/passwd", "..", ".", "", ".hidden", "a\\b", "a\0b", "a b", "é", "x" * 101),
        *("manifest.json", "manifest.sig"),
    ],
)
def test_names_of_files_are_plain(name: str) -> None:
    """No name leaves the directory, hides in it or is one of the bundle's own."""
    seal = {"sha256": "0" * 64, "bytes": 1}
    assert "files." in problems(altered(lambda document: document["files"].update({name: seal})))


def test_all_violations_are_reported_at_once() -> None:
    """Three faults are three problems of one error, in which no value stands."""

    def change(document: dict[str, Any]) -> None:
        document["name"] = "Canary Person"
        document["data"]["records"] = "many"
        document["files"]["../x"] = 1

    expected = problems(altered(change))
    assert len(expected.splitlines()) == 4  # the name of the file and its seal are two
    assert "Canary" not in expected


@pytest.mark.parametrize("data", [b"[]", b"null", b'"x"', b"not json", b'{"protocol": 1, "protocol": 1}'])
def test_other_texts_are_refused(data: bytes) -> None:
    """What is no JSON object is no manifest."""
    assert problems(data)


def test_a_newer_protocol_is_refused_before_its_fields() -> None:
    """A later version's manifest is refused as such, whatever else it holds."""
    with pytest.raises(NewerProtocol, match=f"protocol {PROTOCOL + 1}"):
        Manifest.from_bytes(json_bytes({"protocol": PROTOCOL + 1, "files": ["another", "layout"]}))


def test_the_seal_identifies_the_bundle() -> None:
    """Any other file gives another seal; the same fields in another order the same one."""
    document = read_json(altered(lambda d: d["files"]["policy.json"].update(sha256="0" * 64)))
    assert document["seal"] != EXAMPLE.seal
    files = dict(reversed(SEALS.items()))
    assert replace(EXAMPLE, files=files).seal == EXAMPLE.seal


def test_a_manifest_does_not_change() -> None:
    """Neither the mappings given nor those held can be changed behind the seal."""
    files = copy.copy(SEALS)
    manifest = replace(EXAMPLE, files=files)
    files.clear()
    assert manifest.files == SEALS
    with pytest.raises(TypeError):
        manifest.files["x"] = SEALS["model.onnx"]  # type: ignore[index]


def test_an_unsound_manifest_is_never_made() -> None:
    """The rules hold for the writer as for the reader."""
    with pytest.raises(ManifestInvalid, match="name: must be"):
        replace(EXAMPLE, name="a/b")


@pytest.mark.parametrize(
    "secret", ["Canary", {"Canary": 1}, ["Canary"], ("Canary",), b"Canary", None, True, 7]
)
def test_shapes_show_no_values(secret: object) -> None:
    """The shape of a value does not hold the value."""
    assert "Canary" not in shape_of(secret)
    assert "7" not in shape_of(secret)
