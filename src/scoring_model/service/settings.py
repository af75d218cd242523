"""The settings of the service: a file, then the environment, then flags, the last one wins."""

from __future__ import annotations

import dataclasses
import ipaddress
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, Final, Self

from scoring_model.records.near_misses import near_misses
from scoring_model.records.times import Duration
from scoring_model.service.egress import Egress, egress_problems, network_problems

PREFIX: Final = "SCORING_MODEL_"
"""Every variable of the environment that begins so is one of ours."""

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
    "shutdown_notice",
    "shutdown_grace",
)
# Up to the last @ of a word: a password that was not percent-encoded may hold one itself.
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
    """Every setting of the service. docs/service.md has the same table for operators.

    Parameters
    ----------
    bundle : Path
        Directory of the bundle that decides.
    bundles : Path, optional
        Directory that holds every bundle that ever served this database. By default that in which `bundle` is.
    database : str
        ``sqlite:///relative.db``, ``sqlite:////absolute.db`` or ``postgresql://...``. Never shown whole.
    master_key : str, optional
        Where the master keys come from: ``file:PATH``, ``env:NAME`` or ``command:WORDS``. For SQLite by default the
        file ``<database>.key`` beside the database.
    host : str
        Name or address to listen on.
    port : int
        0 to 65535; 0 takes a free one.
    workers : int
        Processes that answer requests, at least 1; with SQLite exactly 1.
    deliver : bool
        Whether these processes deliver events to webhooks; another program may instead.
    development : bool
        Webhooks may be plain http and on this machine.
    egress_networks : tuple of str
        Special ranges, such as private ones, in which webhooks may be reached all the same.
    egress_proxy : str, optional
        ``http://[user:password@]host:port``: deliveries go through CONNECT. Never shown.
    trusted_proxies : tuple of str
        Networks whose forwarding headers are believed.
    public_key : Path, optional
        Ed25519 public key, PEM, whose signature the bundle must carry.
    request_log : bool
        One line of JSON for each request on standard error.
    scoring_timeout : int
        Microseconds that a client waits for its verification before it gets 202.
    commit_timeout : int
        Microseconds after which a change that could not be committed is refused; more than `scoring_timeout`.
    queue_wait : int
        Microseconds of estimated wait above which a change is refused at arrival.
    queue_limit : int
        Changes that one may have before it at arrival, at least 1; else it is refused.
    max_batch : int
        Changes that share one transaction at most, at least 1.
    max_connections : int
        Connections that one process holds, at least 1. Above it the oldest one without good credentials makes room.
    max_connections_per_address : int
        Of those without good credentials, from one IPv4 address or /64 of IPv6, at least 1. Not counted for
        `trusted_proxies`.
    head_timeout : int
        Microseconds within which a connection's first byte, and then the headers of a request, have to arrive.
    body_timeout : int
        Microseconds within which a body has to arrive.
    write_timeout : int
        Microseconds within which a client has to read what was written for it.
    shutdown_notice : int
        Microseconds for which a process that was asked to stop still takes connections, while it says that it is not
        ready.
    shutdown_grace : int
        Microseconds that requests under way get to end when the service stops, and after them deliveries.

    Raises
    ------
    ValueError
        With every field that breaks its rule.
    """

    bundle: Path
    bundles: Path | None = None
    database: str = field(repr=False)
    master_key: str | None = field(default=None, repr=False)  # a command line may hold anything
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
    scoring_timeout: Duration = 2 * _SECOND
    commit_timeout: Duration = 5 * _SECOND
    queue_wait: Duration = _SECOND
    queue_limit: int = 2000
    max_batch: int = 32
    max_connections: int = 4096
    max_connections_per_address: int = 1024
    head_timeout: Duration = 20 * _SECOND
    body_timeout: Duration = 30 * _SECOND
    write_timeout: Duration = 30 * _SECOND
    shutdown_notice: Duration = 0
    shutdown_grace: Duration = 30 * _SECOND

    def __post_init__(self) -> None:
        if problems := [*_number_problems(self), *_source_problems(self)]:
            raise ValueError("; ".join(problems))

    @property
    def shelf(self) -> Path:
        """The directory of all bundles."""
        return self.bundle.resolve().parent if self.bundles is None else self.bundles

    @property
    def master_source(self) -> str:
        """Where the master keys come from."""
        return master_source(self.database, self.master_key)

    @property
    def networks(self) -> tuple[ipaddress.IPv4Network | ipaddress.IPv6Network, ...]:
        """The trusted proxies as networks."""
        return tuple(ipaddress.ip_network(text) for text in self.trusted_proxies)

    @property
    def egress(self) -> Egress:
        """Where deliveries may go out."""
        return Egress(networks=self.egress_networks, proxy=self.egress_proxy, development=self.development)

    def to_plain(self) -> dict[str, Any]:
        """Give plain values, as JSON has them, that `from_plain` reads: for a process of one's own."""
        plain = dataclasses.asdict(self)
        return {name: str(value) if isinstance(value, Path) else value for name, value in plain.items()}

    @classmethod
    def from_plain(cls, plain: Mapping[str, Any]) -> Self:
        """Make settings of what `to_plain` gave, without a library that validates."""
        paths = {name: Path(plain[name]) for name in ("bundle", "bundles", "public_key") if plain[name]}
        lists = {name: tuple(plain[name]) for name in _LISTS}
        return cls(**{**plain, **paths, **lists})


def _number_problems(settings: ServiceSettings) -> Iterator[str]:
    if not settings.host:
        yield "host must be a name or an address; 0.0.0.0 is all of this machine"
    if not 0 <= settings.port <= 65535:
        yield f"port must fulfil 0 <= port <= 65535, got {settings.port}"
    for name in _COUNTS:
        if getattr(settings, name) < 1:
            yield f"{name} must be at least 1, got {getattr(settings, name)}"
    for name in _DURATIONS:
        value = getattr(settings, name)
        is_off = name == "shutdown_notice" and value == 0
        if value < _MILLISECOND and not is_off:  # a bare number, which would be one of microseconds
            yield f"{name} must be at least a millisecond, written as text such as 2s"
    if settings.scoring_timeout >= settings.commit_timeout:
        yield "scoring_timeout must be below commit_timeout"


def _source_problems(settings: ServiceSettings) -> Iterator[str]:
    try:
        if settings.workers > 1 and sqlite_path(settings.database) is not None:
            yield "workers must be 1 with SQLite: use PostgreSQL for several processes"
        master_source(settings.database, settings.master_key)
    except ValueError as error:
        yield str(error)
    yield from network_problems("trusted_proxies", settings.trusted_proxies)
    yield from egress_problems(settings.egress_networks, settings.egress_proxy)


def sqlite_path(database: str) -> Path | None:
    """The file of a SQLite database, None for another kind.

    Raises
    ------
    ValueError
        If the URL is of no known kind, or means a database in memory, which ends with its process.
    """
    from scoring_model.service.store.address import BadAddress, PostgresAddress, parse_address

    try:
        address = parse_address(database)
    except BadAddress:
        raise ValueError(
            "database must be sqlite:///relative.db, sqlite:////absolute.db or postgresql://..., "
            f"got text of {len(database)} characters"
        ) from None
    if isinstance(address, PostgresAddress):
        return None
    if address.path is None:
        raise ValueError("database must name a file: sqlite:///relative.db or sqlite:////absolute.db")
    return address.path


def master_source(database: str, master_key: str | None) -> str:
    """Where the master keys of a database come from.

    Parameters
    ----------
    database : str
        Its URL.
    master_key : str or None
        The source that was named, if any.

    Raises
    ------
    ValueError
        If the source is of no known kind, or if none was named and the database has no file to keep one beside.
    """
    path = sqlite_path(database)
    if master_key is None:
        if path is None:
            raise ValueError("master_key is required with PostgreSQL: file:PATH, env:NAME or command:WORDS")
        return f"file:{path}.key"
    kind, _, rest = master_key.partition(":")
    if kind not in ("file", "env", "command") or not rest:
        raise ValueError("master_key must be file:PATH, env:NAME or command:WORDS")
    return master_key


def load_settings(
    *, flags: Mapping[str, object], environment: Mapping[str, str], file: Path | None = None
) -> ServiceSettings:
    """Read the settings of the service.

    Parameters
    ----------
    flags : mapping of str to object
        Settings by name, the strongest; None where a flag was not given.
    environment : mapping of str to str
        `PREFIX` and the name in capitals; an empty value is as none.
    file : Path, optional
        YAML, the weakest.

    Raises
    ------
    ConfigurationError
        With all problems of all sources: unknown names with the nearest known one, and values that break a rule
        with where they came from. Values are never shown.
    """
    # The validator takes long to import, and a worker, which is given settings that were read, never needs it.
    from scoring_model.configuration.reading import ConfigurationError, read_settings, read_yaml

    plain = read_yaml(file) if file is not None else {}
    if not isinstance(plain, Mapping | None):
        raise ConfigurationError((f"{file}: must be a mapping of names to values",))
    filed = {str(name): value for name, value in (plain or {}).items()}
    variables, unknown = _variables(environment)
    given = {name: value for name, value in flags.items() if value is not None}
    try:
        settings = read_settings(ServiceSettings, {**filed, **variables, **given})
    except ConfigurationError as error:
        named = {name: f"{name} in {file}" for name in filed}
        named |= {name: PREFIX + name.upper() for name in variables}
        named |= {name: f"--{name.replace('_', '-')}" for name in given}
        told = (
            line
            for v in error.violations
            for line in _told(str(v) if v.pointer else f"the whole: {v}", named)
        )
        raise ConfigurationError((*told, *unknown), omitted=error.omitted) from None
    if unknown:
        raise ConfigurationError(unknown)
    return settings


def _variables(environment: Mapping[str, str]) -> tuple[dict[str, object], tuple[str, ...]]:
    """The settings among the variables, and what is wrong with the others that are ours by their prefix."""
    known = {PREFIX + f.name.upper(): f.name for f in fields(ServiceSettings)}
    values: dict[str, object] = {}
    unknown = []
    for variable in sorted(environment):
        if not variable.startswith(PREFIX):
            continue
        name, text = known.get(variable), environment[variable]
        if name is None:
            short = variable.removeprefix(PREFIX).lower()
            near = near_misses(short, known.values())
            hint = f"did you mean {PREFIX}{near[0].upper()}?" if near else f"known are {', '.join(known)}"
            unknown.append(f"{variable}: unknown variable; {hint}")
        elif text:
            values[name] = items(text) if name in _LISTS else text
    return values, tuple(unknown)


def items(text: str) -> list[str]:
    """Split a list that was written with commas between.

    Examples
    --------
    >>> items("10.0.0.0/8, ::1")
    ['10.0.0.0/8', '::1']
    """
    return [item.strip() for item in text.split(",") if item.strip()]


def _told(problem: str, named: Mapping[str, str]) -> Iterator[str]:
    """Report a problem under the name under which the value was given."""
    where, _, rest = problem.partition(": ")
    name, dot, part = where.partition(".")
    if name in named:
        yield f"{named[name]}{dot}{part}: {rest}"
    elif where != "the whole":
        yield problem
    else:
        for rule in rest.split("; "):  # those of `ServiceSettings` itself, which begin with a name
            source = named.get(rule.partition(" ")[0].partition(".")[0])
            yield rule if source is None else f"{source}: {rule}"
