"""The manifest: identity, origin and files of a bundle."""

from __future__ import annotations

import dataclasses
import math
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Final, Self

from scoring_model.bundle.codec import json_bytes, read_json
from scoring_model.bundle.errors import ContentInvalid, ManifestInvalid, NewerProtocol, UnreleasedProtocol
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

PROTOCOL: Final = 10
"""Version of the layout of a bundle and of the meaning of its files. Until the first release it is edited in place.

How to change either after it:

1. A change after which an older reader would refuse or misread a new bundle raises this number by one. A new
   field and a new meaning are such changes: readers refuse unknown ones. So is a new file that a decision or its
   replay needs. A new descriptive file is none: readers check it against the seal and copy it, no more.
2. Before the change, commit a small bundle of the old protocol to the tests, never to be written again.
3. Its reader goes into `OLDER_READERS`, a module for each in a folder of its own, so that a verdict made with any
   released bundle stays replayable: `DecisionPart` decides about a stored feature row as the bundle's own protocol
   does.
4. New records are scored with the present protocol alone. `upgrade` seals an older bundle again, elsewhere: no bundle
   is ever rewritten in place. It keeps the model and its version; what decides otherwise has another policy version.
   A bundle whose features this package no longer computes is `FeaturesUnknown`, and can't be upgraded.

A bundle with a larger number is refused as `NewerProtocol`, one with a smaller number that has no reader as
`UnreleasedProtocol`, before anything else of it is looked at.
"""

OLDER_READERS: Final[dict[int, Callable[[Mapping[str, bytes]], dict[str, Any]]]] = {}
"""By older protocol, what reads the fields of a `DecisionPart` from the files of a bundle. None was released yet."""

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
    protocol: int = PROTOCOL

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
        UnreleasedProtocol
            When it was made before the first release.
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
        raise NewerProtocol(f"protocol {protocol} is of a later version; the latest known here is {PROTOCOL}")
    if protocol != PROTOCOL and protocol not in OLDER_READERS:
        raise UnreleasedProtocol(
            f"the bundle, of protocol {protocol}, was made before the first release; make it anew: train a model"
        )
    return document
