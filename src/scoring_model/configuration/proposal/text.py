"""The text of a proposed configuration, with comments for those who complete it."""

from collections.abc import Iterable, Iterator

import yaml

from scoring_model.configuration.headers import words_of
from scoring_model.configuration.proposal import Proposal
from scoring_model.configuration.proposal.split import FEWER
from scoring_model.configuration.proposal.windows import KNOWN_SHARE
from scoring_model.contract.fields import REQUIRED_FIELDS
from scoring_model.escaping import visible, visible_line
from scoring_model.features.signal_settings import TITLE
from scoring_model.records import format_duration, rfc3339
from scoring_model.records.times import SECOND


def proposal_text(found: Proposal, *, name: str, source: str) -> str:
    """Write a proposal as YAML.

    Parameters
    ----------
    name : str
        Name of the use.
    source : str
        Name of the profiled file.
    """
    return "\n".join(_lines(found, name, source)) + "\n"


def _lines(found: Proposal, name: str, source: str) -> Iterator[str]:
    yield f"# Proposed by `scoring-model init` from {visible_line(source)}. docs/configuration.md has every key."
    yield from _list("To decide:", found.decisions)
    left_out = [f"{column}: {reason}" for column, reason in found.left_out.items()]
    yield from _list("Columns that are not used:", left_out)
    yield f"name: {_text(name)} # of the use: models that are compared have one name"
    yield from ("", *_use(found))
    yield from ("", "records:", *_records(found))
    yield from ("", "signals:" if found.signals else "signals: {}")
    for signal in found.signals:
        protected = f", protected: {signal.protected}" if signal.protected else ""
        is_title = not words_of(signal.column).isascii() and TITLE.fullmatch(signal.column)
        title = f", title: {_text(signal.column)}" if is_title else ""
        yield f"  {_text(signal.name)}: {{type: {signal.type}{protected}{title}}}"
    yield from ("", "links:", "  keys:" if found.keys else "  keys: {}")
    for key, fields in found.keys.items():
        yield f"    {_text(key)}: {_flow(fields)}"
    yield from _windows(found) if found.keys else ()
    yield from ("", "features:", f"  families: {_flow(found.families)}")
    if found.timezone:
        yield "  time_zone: *zone"
    if any(signal.protected for signal in found.signals):
        yield "  use_protected: [] # name an attribute to let features read it"
    lengths = found.lengths
    maturity, burn_in = map(format_duration, (lengths.maturity, lengths.burn_in))
    gap = "" if lengths.gap == lengths.maturity // 2 else f", gap: {format_duration(lengths.gap)}"
    yield from (
        "",
        "training:",
        f"  split: {{label_maturity: {maturity}, burn_in: {burn_in}{gap}{_parts(found)}}}",
        "  tuning: {trials: 20}",
    )
    yield from ("", "policy:", f"  max_false_reject: {found.max_false_reject:g}")
    yield (
        "  max_step_up: 0.05"
        if found.max_false_reject < 0.05
        else f"  max_step_up: {2 * found.max_false_reject:g}"
    )


def _parts(found: Proposal) -> str:
    """Write what differs from the usual split; without an instant, delays of late records would lengthen the file."""
    train, validation, test = found.parts.shares
    shares = "" if found.parts.usual else f", train: {train:g}, validation: {validation:g}, test: {test:g}"
    shares += f", min_frauds: {FEWER}" if found.parts.few else ""
    return shares + (f', as_of: "{rfc3339(found.ends + SECOND)}"' if found.partly_known else "")


def _list(title: str, items: Iterable[str]) -> Iterator[str]:
    lines = [f"# - {visible(' '.join(item.split()))}" for item in items]
    if lines:
        yield from ("#", f"# {title}", *lines)


def _use(found: Proposal) -> Iterator[str]:
    required = ""
    if found.identity_requires != REQUIRED_FIELDS:
        required = f", identity_requires: {_flow(found.identity_requires)}"
        yield (
            "# identity_requires: without one of these an identity is INCOMPLETE; nearly every row here has them."
            if found.identity_requires
            else "# identity_requires: no field of an identity is in nearly every row, so that an identity needs none."
        )
    yield f"use: {{subject: customer, event: {found.event}{required}}} # what reasons call them"


def _records(found: Proposal) -> Iterator[str]:
    if found.columns:
        yield "  columns:"
        for name, column in found.columns.items():
            clock = found.clocks.get(name)
            yield f"    {name}: {_text(column) if clock is None else _flow((column, clock))}"
    settings = {
        "decimal": f'"{found.decimal}"' if found.decimal else "",
        "nulls": _flow(found.nulls) if found.nulls else "",
        "dates": _flow(found.dates) if found.dates else "",
        "timezone": f"&zone {found.timezone} # of times without one; features.time_zone follows it"
        if found.timezone
        else "",
    }
    lines = [f"    {key}: {value}" for key, value in settings.items() if value]
    if lines or found.values:
        yield from ("  format:", *lines)
    if found.values:
        yield "    values:"
        for name, words in found.values.items():
            listed = ", ".join(f"{_text(word)}: {meaning}" for word, meaning in words.items())
            yield f"      {name}: {{{listed}}}"
    yield "  labels:"
    yield from (f"    {kind}: {_flow(words)}" for kind, words in found.words.items() if words)
    if "labelKnownAt" in found.fields and found.partly_known:
        yield f"    delay: {format_duration(found.lengths.delay)} # of labels without a time of their own"
    if "labelKnownAt" not in found.fields:
        assumed = "" if found.lengths.given else " # assumed"
        yield f"    delay: {format_duration(found.lengths.delay)}{assumed}"
    yield from _outcomes(found)


def _outcomes(found: Proposal) -> Iterator[str]:
    if found.outcomes:
        yield "  outcomes:"
        yield from (f"    {kind}: {_flow(words)}" for kind, words in found.outcomes.items())


def _windows(found: Proposal) -> Iterator[str]:
    """Write the windows; a column of times at which labels became known gives them a delay of their own."""
    lengths = found.lengths
    yield f"  windows: {_durations(lengths.windows)}"
    if not lengths.delayed:
        yield f"  # No delayed_windows, which would end where labels are known: {lengths.without}."
        yield from _amounts(found)
        return
    delay, source = format_duration(lengths.delay), "records.labels.delay, assumed"
    if lengths.given:
        source = "as given by --delay"
    elif "labelKnownAt" in found.fields:
        source = f"so are {KNOWN_SHARE:.0%} of {lengths.measured:,} frauds in the file"
    yield f"  # A fraud is known {delay} after its event ({source})."
    yield "  # Delayed windows end that time before the event: of all that they hold it is known whether it is fraud."
    yield f"  delayed_windows: {_durations(lengths.delayed)}"
    if "labelKnownAt" in found.fields:
        yield f"  delay: {delay}"
    persons = ["persons"] if "person" in found.keys else []
    yield f"  counts: {_flow(['records', *persons, 'since_last', 'change', 'since_last_fraud', 'fraud_run'])}"
    yield from _amounts(found)
    if lengths.by_key:
        yield "  by_key: # fewer windows where values seldom recur"
    for key, (windows, delayed) in lengths.by_key.items():
        yield f"    {_text(key)}: {{windows: {_durations(windows)}, delayed_windows: {_durations(delayed)}}}"


def _amounts(found: Proposal) -> Iterator[str]:
    if found.amounts:
        listed = ", ".join(
            f"{{signal: {_text(one.signal)}, decimals: {one.decimals}}}" for one in found.amounts
        )
        yield f"  amounts: [{listed}] # compared with earlier ones of the same key"
        yield "  statistics: [mean, ratio, z, highest_ratio]"


def _durations(lengths: Iterable[int]) -> str:
    return f"[{', '.join(map(format_duration, lengths))}]"


def _flow(items: Iterable[str]) -> str:
    return f"[{', '.join(map(_text, items))}]"


def _text(value: str) -> str:
    """Write a YAML scalar, quoted where YAML would not read it as this text."""
    if not value.isprintable():
        plain = (c if c.isprintable() and c not in '"\\' else f"\\U{ord(c):08x}" for c in value)
        return f'"{"".join(plain)}"'
    return yaml.safe_dump([value], default_flow_style=True, allow_unicode=True, width=_ONE_LINE)[1:-2]


_ONE_LINE = 1 << 30
