"""The text of a proposed configuration, with comments for those who complete it."""

import json
from collections.abc import Iterable, Iterator

from scoring_model.configuration.proposal import Proposal
from scoring_model.records import format_duration


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
    yield f"# Proposed by `scoring-model init` from {source}. docs/configuration.md has every key."
    yield from _list("To decide:", found.decisions)
    left_out = [f"{column}: {reason}" for column, reason in found.left_out.items()]
    yield from _list("Columns that are not used:", left_out)
    yield f"name: {_text(name)}"
    yield from ("", "use: {subject: customer, event: application} # what reasons call them")
    yield from ("", "records:", *_records(found))
    yield from ("", "signals:" if found.signals else "signals: {}")
    for signal in found.signals:
        protected = f", protected: {signal.protected}" if signal.protected else ""
        yield f"  {signal.name}: {{type: {signal.type}{protected}}}"
    yield from ("", "links:", "  keys:")
    for key, fields in found.keys.items():
        yield f"    {key}: {_flow(fields)}"
    windows = ", ".join(map(format_duration, found.windows))
    yield f"  windows: [{windows}] # of a record's fraud only windows longer than the label delay can know"
    yield from ("", "features:", f"  families: {_flow(found.families)}")
    if any(signal.protected for signal in found.signals):
        yield "  use_protected: [] # name an attribute to let features read it"
    maturity, burn_in = format_duration(found.maturity), format_duration(found.burn_in)
    yield from (
        "",
        "training:",
        f"  split: {{label_maturity: {maturity}, burn_in: {burn_in}}}",
        "  tuning: {trials: 20}",
    )
    yield from ("", "policy:", f"  max_false_reject: {found.max_false_reject:g}")
    yield (
        "  max_step_up: 0.05"
        if found.max_false_reject < 0.05
        else f"  max_step_up: {2 * found.max_false_reject:g}"
    )


def _list(title: str, items: Iterable[str]) -> Iterator[str]:
    lines = [f"# - {' '.join(item.split())}" for item in items]
    if lines:
        yield from ("#", f"# {title}", *lines)


def _records(found: Proposal) -> Iterator[str]:
    if found.columns:
        yield "  columns:"
        yield from (f"    {name}: {_text(column)}" for name, column in found.columns.items())
    settings = {
        "decimal": '","' if found.comma else "",
        "nulls": _flow(found.nulls) if found.nulls else "",
        "dates": _flow(found.dates) if found.dates else "",
    }
    lines = [f"    {key}: {value}" for key, value in settings.items() if value]
    if lines:
        yield from ("  format:", *lines)
    yield "  labels:"
    yield from (f"    {kind}: {_flow(words)}" for kind, words in found.words.items() if words)
    if found.delay is not None:
        yield f"    delay: {format_duration(found.delay)} # assumed"


def _flow(items: Iterable[str]) -> str:
    return f"[{', '.join(map(_text, items))}]"


def _text(value: str) -> str:
    """Write a YAML scalar: plain if unambiguous, else quoted as in JSON, which YAML can read."""
    plain = value.replace("_", "").replace(".", "").isalpha() and value.isascii()
    return value if plain and value.lower() not in _WORDS else json.dumps(value, ensure_ascii=False)


_WORDS = ("true", "false", "yes", "no", "on", "off", "null", "nan", "y", "n")
"""Words that YAML does not read as text."""
