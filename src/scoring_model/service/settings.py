"""The settings of the service, from a file, the environment and flags; later sources win."""

from __future__ import annotations

import dataclasses
import ipaddress
import re
from collections.abc import Iterator, Mapping
from dataclasses import MISSING, dataclass, field, fields
from pathlib import Path
from typing import (
    TYPE_CHECKING,
    Annotated,
    Any,
    Final,
    NamedTuple,
    Self,
    get_args,
    get_origin,
    get_type_hints,
)

from scoring_model.contract.units import SECOND
from scoring_model.contract.violation import Invalid, Violation, pointer

# Every command takes options from here, so what is not needed for them is imported later.
if TYPE_CHECKING:
    from pydantic import GetCoreSchemaHandler
    from pydantic_core import CoreSchema

    from scoring_model.service.delivery.egress import Egress

PREFIX: Final = "SCORING_MODEL_"
"""Prefix of the environment variables that the service reads; unknown variables with it are rejected."""

DATABASES: Final = "sqlite:///relative.db, sqlite:////absolute.db or postgresql://..."
DEFAULT_GRACE: Final = 30
"""Seconds."""

_KEY_SOURCES: Final = "file:PATH, env:NAME or command:WORDS"
_MILLISECOND: Final = 1000
_COUNTS: Final = ("workers", "queue_limit", "max_batch", "max_connections", "max_connections_per_address")
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


class _ReadAsDuration:
    """Reads text such as ``2s`` as microseconds."""

    def __get_pydantic_core_schema__(self, source: object, handler: GetCoreSchemaHandler) -> CoreSchema:
        from scoring_model.records.times import AnyDuration

        return handler.generate_schema(AnyDuration)


_Time = Annotated[int, _ReadAsDuration()]


class Help(str):
    """The help of an option of commands."""

    __slots__ = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class ServiceSettings:
    """The settings of the service; see docs/service-settings.md. Durations are integer microseconds.

    Names, types, defaults and helps are those of the options of commands; see `SETTINGS`.

    Raises
    ------
    Invalid
        With all violations. The first part of each pointer is the name of a setting.
    """

    bundle: Annotated[Path, Help("Directory of the bundle to serve.")]
    bundles: Annotated[
        Path | None, Help("Directory with every bundle ever served; by default the bundle's.")
    ] = None
    database: Annotated[str, Help(f"{DATABASES}.")] = field(repr=False)
    # A command may contain secrets.
    master_key: Annotated[str | None, Help(f"{_KEY_SOURCES}; for SQLite by default file:<database>.key.")] = (
        field(default=None, repr=False)
    )
    host: Annotated[str, Help("Name or address to listen on.")] = "127.0.0.1"
    port: Annotated[int, Help("Port to listen on; 0 for a free one.")] = 8000
    metrics_port: Annotated[int | None, Help("Port of /metrics, for Prometheus; 0 for a free one.")] = None
    workers: Annotated[int, Help("Serving processes; above 1 with PostgreSQL only.")] = 1
    deliver: Annotated[bool, Help("Deliver events to webhooks.")] = True
    development: Annotated[bool, Help("Allow webhooks with plain http and on this machine.")] = False
    egress_networks: Annotated[
        tuple[str, ...], Help("Special networks that webhooks may use, separated by commas.")
    ] = ()
    egress_proxy: Annotated[str | None, Help("http://host:port of a CONNECT proxy for deliveries.")] = field(
        default=None, repr=False
    )
    trusted_proxies: Annotated[
        tuple[str, ...], Help("Networks whose forwarding headers are trusted, separated by commas.")
    ] = ()
    basic_auth: Annotated[bool, Help("Let connectors without headers of their own send HTTP Basic.")] = False
    public_key: Annotated[
        Path | None,
        Help("Ed25519 public key, PEM: each bundle that is read must carry its signature."),
    ] = None
    request_log: Annotated[bool, Help("Log each request as a line of JSON on standard error.")] = True
    scoring_timeout: Annotated[_Time, Help("Time after which a verification is PENDING.")] = 2 * SECOND
    commit_timeout: Annotated[_Time, Help("Time after which a change is refused.")] = 5 * SECOND
    queue_wait: Annotated[_Time, Help("Estimated wait above which a change is refused at arrival.")] = SECOND
    queue_limit: Annotated[int, Help("Most changes in the queue.")] = 2000
    max_batch: Annotated[int, Help("Changes that share a transaction.")] = 32
    # Above it the oldest one without good credentials is closed.
    max_connections: Annotated[int, Help("Connections that one process holds.")] = 4096
    # Of one IPv4 address or /64 of IPv6.
    max_connections_per_address: Annotated[int, Help("Most unauthenticated ones from one address.")] = 1024
    head_timeout: Annotated[_Time, Help("Time within which headers must arrive.")] = 20 * SECOND
    body_timeout: Annotated[_Time, Help("Time within which a body must arrive.")] = 30 * SECOND
    write_timeout: Annotated[_Time, Help("Time within which a client must read its answer.")] = 30 * SECOND
    links_kept_for: Annotated[
        _Time, Help("Time for which link records are kept; at least the bundle's longest window.")
    ] = 0
    # A stopping process still accepts connections, but reports that it is not ready.
    shutdown_notice: Annotated[_Time, Help("Time for load balancers to notice the shutdown.")] = 0
    shutdown_grace: Annotated[
        _Time,
        Help(
            "Time within which requests under way end at shutdown, and then the same for delivery attempts; "
            f"{DEFAULT_GRACE}s by default."
        ),
    ] = DEFAULT_GRACE * SECOND

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
        from scoring_model.service.delivery.egress import Egress

        return Egress(networks=self.egress_networks, proxy=self.egress_proxy, development=self.development)

    def to_plain(self) -> dict[str, Any]:
        """Return JSON values for `from_plain` in another process."""
        plain = dataclasses.asdict(self)
        return {name: str(value) if isinstance(value, Path) else value for name, value in plain.items()}

    @classmethod
    def from_plain(cls, plain: Mapping[str, Any]) -> Self:
        """Create settings from the result of `to_plain`."""
        paths = {name: Path(text) for name, text in plain.items() if text and SETTINGS[name].kind is Path}
        lists = {name: tuple(texts) for name, texts in plain.items() if SETTINGS[name].is_list}
        return cls(**{**plain, **paths, **lists})


class Setting(NamedTuple):
    """A setting as commands and the environment give it.

    Parameters
    ----------
    kind : type
        Path, int, bool or str: of a value on the command line. Durations and lists are text there.
    default : object
        None if it has none, or is none.
    variable : str
        Of the environment.
    """

    kind: type
    help: str
    default: Any
    variable: str
    is_list: bool
    is_duration: bool


def _settings() -> Iterator[tuple[str, Setting]]:
    hints = get_type_hints(ServiceSettings, include_extras=True)
    for one in fields(ServiceSettings):
        hint, *notes = get_args(hints[one.name])
        is_list = get_origin(hint) is tuple
        is_duration = any(isinstance(note, _ReadAsDuration) for note in notes)
        kinds = (str,) if is_list or is_duration else get_args(hint) or (hint,)
        yield (
            one.name,
            Setting(
                kind=kinds[0],
                help=next(note for note in notes if isinstance(note, Help)),
                default=None if one.default is MISSING else one.default,
                variable=PREFIX + one.name.upper(),
                is_list=is_list,
                is_duration=is_duration,
            ),
        )


SETTINGS: Final[Mapping[str, Setting]] = dict(_settings())
"""The settings by name."""


def _broken_numbers(settings: ServiceSettings) -> Iterator[Violation]:
    if not settings.host:
        yield Violation("/host", "blank", "must be a name or an address; 0.0.0.0 is all of this machine")
    for name in ("port", "metrics_port"):
        port = getattr(settings, name)
        if port is not None and not 0 <= port <= 65535:
            yield Violation(pointer(name), "out_of_range", f"must be 0 to 65535, got {port}")
    for name in _COUNTS:
        if (count := getattr(settings, name)) < 1:
            yield Violation(pointer(name), "out_of_range", f"must be at least 1, got {count}")
    for name in [name for name, setting in SETTINGS.items() if setting.is_duration]:
        value = getattr(settings, name)
        is_off = name in _MAY_BE_ZERO and value == 0
        if value < _MILLISECOND and not is_off:  # a bare number, read as microseconds
            detail = "must be at least a millisecond, written as text such as 2s"
            yield Violation(pointer(name), "out_of_range", detail)
    if settings.scoring_timeout >= settings.commit_timeout:
        yield Violation("/scoring_timeout", "out_of_range", "must be below commit_timeout")


def _broken_sources(settings: ServiceSettings) -> Iterator[Violation]:
    from scoring_model.service.delivery.egress import broken_egress, broken_networks

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
        detail = f"must be {DATABASES}, got text of {len(database)} characters"
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
            detail = f"is required with PostgreSQL: {_KEY_SOURCES}"
            raise Invalid([Violation("/master_key", "missing", detail)])
        return f"file:{path}.key"
    kind, _, rest = master_key.partition(":")
    if kind not in ("file", "env", "command") or not rest:
        detail = f"must be {_KEY_SOURCES}"
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
    sources |= {name: SETTINGS[name].variable for name in variables}
    sources |= {name: f"--{name.replace('_', '-')}" for name in given}
    raise ConfigurationError((*(_line(one, sources) for one in violations), *unknown))


def _line(violation: Violation, sources: Mapping[str, str]) -> str:
    name, dot, part = violation.field.partition(".")
    return f"{sources.get(name, name)}{dot}{part}: {violation.detail}"


def _variables(environment: Mapping[str, str]) -> tuple[dict[str, object], tuple[str, ...]]:
    """Return the settings among the variables, and a line for each unknown variable with `PREFIX`."""
    from scoring_model.records.near_misses import near_misses

    known = {setting.variable: name for name, setting in SETTINGS.items()}
    values: dict[str, object] = {}
    unknown = []
    for variable in sorted(environment):
        if not variable.startswith(PREFIX):
            continue
        name, text = known.get(variable), environment[variable]
        if name is None:
            near = near_misses(variable.removeprefix(PREFIX).lower(), tuple(known.values()))
            hint = f"did you mean {SETTINGS[near[0]].variable}?" if near else f"known are {', '.join(known)}"
            unknown.append(f"{variable}: unknown variable; {hint}")
        elif text:
            values[name] = items(text) if SETTINGS[name].is_list else text
    return values, tuple(unknown)


def items(text: str) -> list[str]:
    """Split text at commas.

    Examples
    --------
    >>> items("10.0.0.0/8, ::1")
    ['10.0.0.0/8', '::1']
    """
    return [item.strip() for item in text.split(",") if item.strip()]
