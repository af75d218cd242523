"""The settings of the service, from a file, the environment and flags; later sources win."""

from __future__ import annotations

import dataclasses
import ipaddress
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, Final, Self

from scoring_model.contract.violation import Invalid, Violation, pointer
from scoring_model.records.near_misses import near_misses
from scoring_model.records.times import Duration
from scoring_model.service.delivery.egress import Egress, broken_egress, broken_networks

PREFIX: Final = "SCORING_MODEL_"
"""Prefix of the environment variables that the service reads; unknown variables with it are rejected."""

_MILLISECOND: Final = 1000
_SECOND: Final = 1_000_000
_LISTS: Final = ("trusted_proxies", "egress_networks")
_COUNTS: Final = ("workers", "queue_limit", "max_batch", "max_connections", "max_connections_per_address")
_DURATIONS: Final = (
    "scoring_timeout",
    "commit_timeout",
    "queue_wait",
    "head_timeout",
    "body_timeout",
    "write_timeout",
    "links_kept_for",
    "shutdown_notice",
    "shutdown_grace",
)
_MAY_BE_ZERO: Final = ("links_kept_for", "shutdown_notice")
# Up to the last @ of a word: a password without percent-encoding may contain one.
_USER_PASSWORD: Final = re.compile(r"(://[^\s:/?#]*):\S*@")
_QUERY_PASSWORD: Final = re.compile(r"([?&]password=)[^&\s]*", re.IGNORECASE)


def masked(text: str) -> str:
    """Hide the passwords of all URLs in a text.

    Examples
    --------
    >>> masked("can't reach postgresql://risk:s3cret@db/scoring")
    "can't reach postgresql://risk:***@db/scoring"
    """
    return _QUERY_PASSWORD.sub(r"\1***", _USER_PASSWORD.sub(r"\1:***@", text))


@dataclass(frozen=True, kw_only=True, slots=True)
class ServiceSettings:
    """The settings of the service; see docs/service.md. Durations are integer microseconds.

    Raises
    ------
    Invalid
        With all violations. The first part of each pointer is the name of a setting.
    """

    bundle: Path
    bundles: Path | None = (
        None  # with every bundle ever served with the database; by default that of `bundle`
    )
    database: str = field(repr=False)
    master_key: str | None = field(default=None, repr=False)  # a command may contain secrets
    host: str = "127.0.0.1"
    port: int = 8000
    workers: int = 1
    deliver: bool = True
    development: bool = False
    egress_networks: tuple[str, ...] = ()
    egress_proxy: str | None = field(default=None, repr=False)
    trusted_proxies: tuple[str, ...] = ()
    public_key: Path | None = None
    request_log: bool = True
    scoring_timeout: Duration = 2 * _SECOND  # after which a verification is answered with 202
    commit_timeout: Duration = 5 * _SECOND  # after which an uncommitted change is refused
    queue_wait: Duration = _SECOND  # estimated, above which a change is refused at arrival
    queue_limit: int = 2000  # waiting changes, above which further ones are refused at arrival
    max_batch: int = 32  # changes that share one transaction
    max_connections: int = 4096  # of one process; above it the oldest one without good credentials is closed
    max_connections_per_address: int = 1024  # without good credentials, of one IPv4 address or /64 of IPv6
    head_timeout: Duration = 20 * _SECOND
    body_timeout: Duration = 30 * _SECOND
    write_timeout: Duration = 30 * _SECOND  # within which a client must read what was written to it
    links_kept_for: Duration = 0  # at least the longest window of the bundle, whatever is set
    shutdown_notice: Duration = (
        0  # a stopping process still accepts connections, but reports that it is not ready
    )
    shutdown_grace: Duration = (
        30 * _SECOND
    )  # after which a stopping process cancels requests, and then deliveries

    def __post_init__(self) -> None:
        if violations := [*_broken_numbers(self), *_broken_sources(self)]:
            raise Invalid(violations)

    @property
    def shelf(self) -> Path:
        """The directory of all bundles."""
        return self.bundle.resolve().parent if self.bundles is None else self.bundles

    @property
    def master_source(self) -> str:
        """Source of the master keys."""
        return master_source(self.database, self.master_key)

    @property
    def networks(self) -> tuple[ipaddress.IPv4Network | ipaddress.IPv6Network, ...]:
        """The trusted proxies as networks."""
        return tuple(ipaddress.ip_network(text) for text in self.trusted_proxies)

    @property
    def egress(self) -> Egress:
        """The rules for destinations of deliveries."""
        return Egress(networks=self.egress_networks, proxy=self.egress_proxy, development=self.development)

    def to_plain(self) -> dict[str, Any]:
        """Return JSON values for `from_plain` in another process."""
        plain = dataclasses.asdict(self)
        return {name: str(value) if isinstance(value, Path) else value for name, value in plain.items()}

    @classmethod
    def from_plain(cls, plain: Mapping[str, Any]) -> Self:
        """Create settings from the result of `to_plain`."""
        paths = {name: Path(plain[name]) for name in ("bundle", "bundles", "public_key") if plain[name]}
        lists = {name: tuple(plain[name]) for name in _LISTS}
        return cls(**{**plain, **paths, **lists})


def _broken_numbers(settings: ServiceSettings) -> Iterator[Violation]:
    if not settings.host:
        yield Violation("/host", "blank", "must be a name or an address; 0.0.0.0 is all of this machine")
    if not 0 <= settings.port <= 65535:
        yield Violation("/port", "out_of_range", f"must be 0 to 65535, got {settings.port}")
    for name in _COUNTS:
        if (count := getattr(settings, name)) < 1:
            yield Violation(pointer(name), "out_of_range", f"must be at least 1, got {count}")
    for name in _DURATIONS:
        value = getattr(settings, name)
        is_off = name in _MAY_BE_ZERO and value == 0
        if value < _MILLISECOND and not is_off:  # a bare number, read as microseconds
            detail = "must be at least a millisecond, written as text such as 2s"
            yield Violation(pointer(name), "out_of_range", detail)
    if settings.scoring_timeout >= settings.commit_timeout:
        yield Violation("/scoring_timeout", "out_of_range", "must be below commit_timeout")


def _broken_sources(settings: ServiceSettings) -> Iterator[Violation]:
    try:
        if settings.workers > 1 and sqlite_path(settings.database) is not None:
            detail = "must be 1 with SQLite: use PostgreSQL for several processes"
            yield Violation("/workers", "out_of_range", detail)
        master_source(settings.database, settings.master_key)
    except Invalid as error:
        yield from error.violations
    yield from broken_networks("trusted_proxies", settings.trusted_proxies)
    yield from broken_egress(settings.egress_networks, settings.egress_proxy)


def sqlite_path(database: str) -> Path | None:
    """Return the file of a SQLite database; None for PostgreSQL.

    Raises
    ------
    Invalid
        If the URL is of no known kind, or names an in-memory database.
    """
    from scoring_model.service.store import BadAddress, PostgresAddress, parse_address

    try:
        address = parse_address(database)
    except BadAddress:
        kinds = "sqlite:///relative.db, sqlite:////absolute.db or postgresql://..."
        detail = f"must be {kinds}, got text of {len(database)} characters"
        raise Invalid([Violation("/database", "not_listed", detail)]) from None
    if isinstance(address, PostgresAddress):
        return None
    if address.path is None:
        detail = "must name a file: sqlite:///relative.db or sqlite:////absolute.db"
        raise Invalid([Violation("/database", "missing", detail)])
    return address.path


def master_source(database: str, master_key: str | None) -> str:
    """Return the source of the master keys of a database.

    Raises
    ------
    Invalid
        If the source is of no known kind, or if PostgreSQL has none.
    """
    path = sqlite_path(database)
    if master_key is None:
        if path is None:
            detail = "is required with PostgreSQL: file:PATH, env:NAME or command:WORDS"
            raise Invalid([Violation("/master_key", "missing", detail)])
        return f"file:{path}.key"
    kind, _, rest = master_key.partition(":")
    if kind not in ("file", "env", "command") or not rest:
        detail = "must be file:PATH, env:NAME or command:WORDS"
        raise Invalid([Violation("/master_key", "not_listed", detail)])
    return master_key


def load_settings(
    *, flags: Mapping[str, object], environment: Mapping[str, str], file: Path | None = None
) -> ServiceSettings:
    """Read the settings of the service.

    Parameters
    ----------
    flags : mapping of str to object
        Settings by name; the source with the highest precedence. None means unset.
    environment : mapping of str to str
        Values by `PREFIX` and the name in capitals. An empty value means unset.
    file : Path, optional
        YAML; the source with the lowest precedence.

    Raises
    ------
    ConfigurationError
        With all problems of all sources, each with the file, variable or flag it is in. Contains no values.
    """
    from scoring_model.configuration.reading import ConfigurationError, read_settings, read_yaml

    plain = read_yaml(file) if file is not None else {}
    if not isinstance(plain, Mapping | None):
        raise ConfigurationError((f"{file}: must be a mapping of names to values",))
    filed = {str(name): value for name, value in (plain or {}).items()}
    variables, unknown = _variables(environment)
    given = {name: value for name, value in flags.items() if value is not None}
    violations: tuple[Violation, ...] = ()
    try:
        settings = read_settings(ServiceSettings, {**filed, **variables, **given})
    except ConfigurationError as error:
        violations = error.violations
    else:
        if not unknown:
            return settings
    sources = {name: f"{name} in {file}" for name in filed}
    sources |= {name: _variable(name) for name in variables}
    sources |= {name: f"--{name.replace('_', '-')}" for name in given}
    raise ConfigurationError((*(_line(one, sources) for one in violations), *unknown))


def _line(violation: Violation, sources: Mapping[str, str]) -> str:
    name, dot, part = violation.field.partition(".")
    return f"{sources.get(name, name)}{dot}{part}: {violation.detail}"


def _variables(environment: Mapping[str, str]) -> tuple[dict[str, object], tuple[str, ...]]:
    """Return the settings among the variables, and a line for each unknown variable with `PREFIX`."""
    known = {_variable(setting.name): setting.name for setting in fields(ServiceSettings)}
    values: dict[str, object] = {}
    unknown = []
    for variable in sorted(environment):
        if not variable.startswith(PREFIX):
            continue
        name, text = known.get(variable), environment[variable]
        if name is None:
            near = near_misses(variable.removeprefix(PREFIX).lower(), tuple(known.values()))
            hint = f"did you mean {_variable(near[0])}?" if near else f"known are {', '.join(known)}"
            unknown.append(f"{variable}: unknown variable; {hint}")
        elif text:
            values[name] = items(text) if name in _LISTS else text
    return values, tuple(unknown)


def _variable(name: str) -> str:
    return PREFIX + name.upper()


def items(text: str) -> list[str]:
    """Split text at commas.

    Examples
    --------
    >>> items("10.0.0.0/8, ::1")
    ['10.0.0.0/8', '::1']
    """
    return [item.strip() for item in text.split(",") if item.strip()]
