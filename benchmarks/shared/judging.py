"""Arguments and verdicts of benchmarks."""

import argparse
from collections.abc import Iterable
from typing import Final

Verdict = tuple[bool, str]
"""Whether a bound is kept, and what was measured."""

STORES: Final = ("sqlite", "postgresql")


def arguments(doc: str | None) -> argparse.ArgumentParser:
    """A parser that shows the docstring of a script as it is."""
    return argparse.ArgumentParser(description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)


def add_load(parser: argparse.ArgumentParser, *, seconds: int, rows: int, customers: int) -> None:
    """Add the options of a load on a service with a history."""
    parser.add_argument("--store", choices=STORES, action="append", help="by default both")
    parser.add_argument("--seconds", type=int, default=seconds, help="of one load")
    parser.add_argument("--rows", type=int, default=rows, help="link records of the history")
    parser.add_argument("--customers", type=int, default=customers, help="different bodies")


def at_least(name: str, found: float, bound: float) -> Verdict:
    """Judge a lower bound."""
    return found >= bound, f"{name}: {found:.2f}, at least {bound:g}"


def at_most(name: str, found: float, bound: float) -> Verdict:
    """Judge an upper bound."""
    return found <= bound, f"{name}: {found:.2f}, at most {bound:g}"


def exit_code(verdicts: Iterable[Verdict]) -> int:
    """Print verdicts as they come; 1 if one is bad."""
    bad = 0
    for good, text in verdicts:
        print(f"{'good' if good else 'BAD '}  {text}", flush=True)
        bad |= not good
    return int(bad)
