"""The manifest: identity, origin and files of a bundle."""

from __future__ import annotations

import dataclasses
import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Final, Self

from scoring_model.bundle.codec import json_bytes, read_json
from scoring_model.bundle.errors import ContentInvalid, ManifestInvalid, NewerProtocol
from scoring_model.bundle.seal import FileSeal, sha256_hex
from scoring_model.contract.violation import Violation
from scoring_model.decision.document import Check, an_object, count, entries, fields, must_be, shape_of

MANIFEST = "manifest.json"
SIGNATURE = "manifest.sig"


def _matching(pattern: str, expected: str) -> Check:
    matches = re.compile(pattern).fullmatch
    return must_be(expected, lambda value: isinstance(value, str) and matches(value) is not None)


def _is_scalar(value: object) -> bool:
    if isinstance(value, float):
        return math.isfinite(value)
    return value is None or isinstance(value, bool | int | str)


_LABEL = _matching(
    r"[A-Za-z0-9][A-Za-z0-9._+-]{0,99}", "1 to 100 letters, digits or ._+- with a letter or digit first"
)
_SHA256 = _matching(r"[0-9a-f]{64}", "a SHA-256 as 64 lower-case hexadecimal digits")
_INSTANT = _matching(
    r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z", "an instant such as 2026-01-31T12:00:00.000000Z"
)
# Neither a path, nor hidden, nor "." or "..".
_PLAIN_NAME = _matching(
    r"[A-Za-z0-9_][A-Za-z0-9._-]{0,99}", "1 to 100 letters, digits or ._- with a letter, digit or _ first"
)
_SCALAR = must_be("null, a boolean, a finite number or text", _is_scalar)
_DATA_FIELDS = fields({"sha256": _SHA256, "records": count, "from": _INSTANT, "to": _INSTANT}, others=_SCALAR)


def _file_name(value: object) -> Iterator[Violation]:
    yield from _PLAIN_NAME(value)
    if value in (MANIFEST, SIGNATURE):
        yield Violation("", "reserved", "is kept for the bundle itself")


def _data(value: object) -> Iterator[Violation]:
    violations = list(_DATA_FIELDS(value))
    yield from violations
    if not violations and isinstance(value, Mapping) and value["from"] > value["to"]:
        yield Violation("/from", "order", "must not be later than data.to")


_MANIFEST = fields(
    {
        "protocol": count,
        "name": _LABEL,
        "model_version": _LABEL,
        "policy_version": _LABEL,
        "feature_fingerprint": _SHA256,
        "data": _data,
        "configuration_sha256": _SHA256,
        "libraries": entries(_LABEL, _LABEL),
        "files": entries(_file_name, fields({"sha256": _SHA256, "bytes": count})),
    }
)

PROTOCOL: Final = 5
"""Version of the layout of a bundle and of the meaning of its files: the newest that is read.

How to change either:

1. A change after which an older reader would refuse or misread a new bundle raises this number by one. A new
   field and a new meaning are such changes: readers refuse unknown ones. So is a new file that a decision or its
   replay needs. A new descriptive file is none: readers check it against the seal and copy it, no more.
2. Before the change, commit a small bundle of the old protocol to the tests, never to be written again.
3. The reader goes on reading every protocol from 1 to this one, and a verdict made with any released bundle stays
   replayable: `DecisionPart` decides about a stored feature row as the bundle's own protocol does.
4. New records are scored with the present protocol alone. `upgrade` seals an older bundle again, elsewhere: no bundle
   is ever rewritten in place. It keeps the model and its version; what decides otherwise has another policy version.
   A bundle whose features this package no longer computes is `FeaturesUnknown`, and can't be upgraded.

The numbers:

- 1: the first. ``probability.json`` holds the slope and intercept of Platt's sigmoid, and no method.
- 2: ``probability.json`` names its method, ``platt`` or ``beta``, with the parameters of that one. The manifest
  and all other files are as they were, so that a bundle of protocol 1 needs no step: without a method it is
  Platt's.
- 3: ``reasons.json`` holds the factors with their statements and facts (`Factors`), and is part of the policy's
  version.
  ``features.json`` names the versions of its families, and no reasons. Reasons of protocols 1 and 2 are the codes
  with the largest sums, which may state what is not so (`SummedReasons`).

- 4: ``policy.json`` holds a control group (`Control`). A bundle without one is sealed as of protocol 3, which it
  fulfils: older readers read it, and its bytes are the same.
- 5: ``configuration.json`` says what an identity needs (``use.identity_requires``), which is part of the policy's
  version. A bundle that says nothing is sealed as of protocol 3 or 4.

A bundle with a larger number is refused as `NewerProtocol`, before anything else of it is looked at.
"""

WITHOUT_CONTROL: Final = 3
"""The protocol of bundles whose policy has no control group."""

WITHOUT_NEEDS: Final = 4
"""The protocol of bundles with a control group that do not say what an identity needs."""

SEAL_FIELD = "seal"


@dataclass(frozen=True, kw_only=True, slots=True)
class Manifest:
    """Identity, origin and files of a bundle.

    Parameters
    ----------
    name : str
        Of the use that the bundle serves.
    model_version, policy_version : str
        As reported by every verification.
    feature_fingerprint : str
        SHA-256 of the versions of the feature families and of their values on the committed records.
    data : mapping
        Origin of the model: ``sha256`` of the records, their number ``records``, the event times of
        the first and last, ``from`` and ``to`` (RFC 3339 in UTC with six digits), and further plain values.
    configuration_sha256 : str
        SHA-256 of the resolved configuration.
    libraries : mapping of str to str
        Versions of the libraries that computed the bundle.
    files : mapping of str to FileSeal
        Every file of the directory but the manifest and its signature.

    Raises
    ------
    ManifestInvalid
        With everything that is wrong.
    """

    name: str
    model_version: str
    policy_version: str
    feature_fingerprint: str
    data: Mapping[str, object]
    configuration_sha256: str
    libraries: Mapping[str, str]
    files: Mapping[str, FileSeal]
    protocol: int = WITHOUT_CONTROL

    def __post_init__(self) -> None:
        if violations := list(_MANIFEST(self._fields())):
            raise ManifestInvalid(violations)
        for name in ("data", "libraries", "files"):
            object.__setattr__(self, name, MappingProxyType(dict(getattr(self, name))))

    @property
    def seal(self) -> str:
        """SHA-256 over all fields, and so over the hash of every file: the identity of the bundle."""
        return sha256_hex(json_bytes(self._fields()))

    def to_bytes(self) -> bytes:
        """Return the manifest as canonical JSON, its seal among the fields."""
        return json_bytes({**self._fields(), SEAL_FIELD: self.seal})

    @classmethod
    def from_bytes(cls, data: bytes) -> Self:
        """Read what `to_bytes` wrote, and nothing else.

        Raises
        ------
        NewerProtocol
            When a later version of this package wrote it.
        ManifestInvalid
            When a field is missing, unknown or malformed, when the seal is not that of the fields, or when
            the same fields would have been written in other bytes.
        """
        document = _read_object(data)
        seal = document.pop(SEAL_FIELD, None)
        if violations := list(_MANIFEST(document)):
            raise ManifestInvalid(violations)
        seals = {name: FileSeal(**seal_of_file) for name, seal_of_file in document.pop("files").items()}
        manifest = cls(**document, files=seals)
        if seal != manifest.seal:
            raise ManifestInvalid([Violation(f"/{SEAL_FIELD}", "altered", "is not that of the other fields")])
        if manifest.to_bytes() != data:
            raise ManifestInvalid.of_whole("not_canonical", "the text is not in canonical form")
        return manifest

    def _fields(self) -> dict[str, Any]:
        document = {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}
        document["files"] = {
            name: {"sha256": seal.sha256, "bytes": seal.bytes} for name, seal in self.files.items()
        }
        return document


def _read_object(data: bytes) -> dict[str, Any]:
    """Read the JSON object of a manifest whose protocol is known here."""
    try:
        document = read_json(data)
    except ContentInvalid as error:
        raise ManifestInvalid.of_whole("not_json", str(error)) from None
    if not isinstance(document, dict):
        raise ManifestInvalid(an_object(document))
    protocol = document.get("protocol")
    if type(protocol) is not int or protocol < 1:
        detail = f"must be an integer of at least 1, got {shape_of(protocol)}"
        raise ManifestInvalid([Violation("/protocol", "invalid", detail)])
    if protocol > PROTOCOL:
        raise NewerProtocol(f"protocol {protocol} is of a later version; known here: 1 to {PROTOCOL}")
    return document
