"""What each installation asks for is locked, on every platform that the documentation names."""

import re
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import Final

import pytest
from packaging.markers import Marker
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT: Final = Path(__file__).parents[1]
PLATFORMS: Final = {
    "Linux x86-64": ("linux", "Linux", "x86_64"),
    "Linux ARM64": ("linux", "Linux", "aarch64"),
    "macOS ARM64": ("darwin", "Darwin", "arm64"),
    "macOS Intel": ("darwin", "Darwin", "x86_64"),
    "Windows x86-64": ("win32", "Windows", "AMD64"),
}
INSTALLS: Final = {
    "client": ("scoring-model-client", ""),
    "score": ("scoring-model", ""),
    "train": ("scoring-model", "train"),
    "serve": ("scoring-model", "serve"),
    "all": ("scoring-model", "all"),
}
OF_WINDOWS: Final = {"colorama", "pywin32", "waitress"}
"""Packages that Linux lacks, so that nothing here knows what they ask for: each asks for nothing."""


def lock() -> list[Requirement]:
    """The lines of the lock, without their hashes."""
    text = (ROOT / "requirements.lock").read_text(encoding="utf-8")
    return [Requirement(line) for line in re.findall(r"^([a-z0-9].*?) *\\?$", text, re.MULTILINE)]


LOCK: Final = lock()


def environment(platform: str, version: str) -> dict[str, str]:
    """What markers are evaluated with."""
    name, system, machine = PLATFORMS[platform]
    return {
        "sys_platform": name,
        "platform_system": system,
        "platform_machine": machine,
        "os_name": "nt" if name == "win32" else "posix",
        "python_version": version,
        "python_full_version": f"{version}.9",
    }


def locked(name: str, where: dict[str, str]) -> list[str]:
    """The versions of a package that the lock has for a platform."""
    return [
        str(one.specifier).removeprefix("==")
        for one in LOCK
        if one.name == name and (one.marker is None or one.marker.evaluate(where))
    ]


@cache
def stated(package: str) -> list[Requirement]:
    """What a package asks for on any platform."""
    return [] if package in OF_WINDOWS else [Requirement(text) for text in metadata.requires(package) or []]


def needed(package: str, extra: str, where: dict[str, str]) -> list[tuple[str, Requirement]]:
    """Each requirement of an installation on a platform, with the package that states it."""
    found, seen, left = [], set(), {(package, ""), (package, extra)}
    while left:
        seen.add(one := left.pop())
        for requirement in stated(one[0]):
            marker = requirement.marker or Marker("python_version >= '3'")
            if marker.evaluate({**where, "extra": one[1]}):
                found.append((one[0], requirement))
                name = canonicalize_name(requirement.name)
                left |= {(name, asked) for asked in ("", *requirement.extras)} - seen
    return found


@pytest.mark.parametrize("version", ["3.11", "3.13"])
@pytest.mark.parametrize("platform", PLATFORMS)
@pytest.mark.parametrize("install", INSTALLS)
def test_an_installation_is_locked_for_each_platform(install: str, platform: str, version: str) -> None:
    """The lock has one version of each package that is needed there, and every requirement accepts it."""
    where = environment(platform, version)
    asked = [
        (by, one) for by, one in needed(*INSTALLS[install], where) if not one.name.startswith("scoring-model")
    ]
    versions = {one.name: locked(canonicalize_name(one.name), where) for _, one in asked}
    assert {name: found for name, found in versions.items() if len(found) != 1} == {}
    refused = [
        (by, str(one))
        for by, one in asked
        if not one.specifier.contains(versions[one.name][0], prereleases=True)
    ]
    assert refused == []
    assert len(versions) >= 12


@pytest.mark.parametrize("platform", PLATFORMS)
def test_the_client_needs_neither_numpy_nor_a_model(platform: str) -> None:
    """On no platform does it bring what scores or trains."""
    names = {one.name for _, one in needed("scoring-model-client", "", environment(platform, "3.11"))}
    assert {"httpx", "pydantic"} <= names
    assert names.isdisjoint({"numpy", "onnxruntime", "lightgbm", "pyarrow"})
