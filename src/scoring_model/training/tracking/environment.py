"""What a training ran on: the versions of everything that the package needs for it."""

import platform
from importlib.metadata import PackageNotFoundError, distribution

PACKAGE = "scoring-model"
EXTRA = "train"


def requirements() -> str:
    """List the installed versions of the package, of what it needs to train, and of what these need.

    Returns
    -------
    str
        A requirements file for pip, sorted by name; its first line tells Python and processor.
    """
    versions: dict[str, str] = {}
    _collect(PACKAGE, frozenset({EXTRA}), versions, seen=set())
    pins = "".join(f"{name}=={version}\n" for name, version in sorted(versions.items()))
    return f"# Python {platform.python_version()}, {platform.system()} {platform.machine()}\n{pins}"


def _collect(
    name: str, extras: frozenset[str], versions: dict[str, str], *, seen: set[tuple[str, frozenset[str]]]
) -> None:
    """Add a distribution and all that it needs with some of its extras."""
    from packaging.requirements import Requirement
    from packaging.utils import canonicalize_name

    name = canonicalize_name(name)
    if (name, extras) in seen:
        return
    seen.add((name, extras))
    try:
        found = distribution(name)
    except PackageNotFoundError:
        return  # a requirement of another platform, or one that was left out on purpose
    versions[name] = found.version
    for requirement in map(Requirement, found.requires or ()):
        marker = requirement.marker
        if marker is None or any(marker.evaluate({"extra": extra}) for extra in (extras or {""})):
            _collect(requirement.name, frozenset(requirement.extras), versions, seen=seen)
