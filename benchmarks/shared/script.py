"""A benchmark as a script: options from the signature of its function, verdicts on what it yields, tables."""

import functools
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated, Any, TypeVar

import typer

from scoring_model.evaluation.uncertainty import share_of
from scoring_model.worker_process import show_faults

T = TypeVar("T")


class Store(StrEnum):
    """A kind of database."""

    SQLITE = "sqlite"
    POSTGRESQL = "postgresql"


Stores = Annotated[
    list[Store], typer.Option("--store", default_factory=lambda: list(Store), show_default="both")
]


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether a bound is kept, and what was measured."""

    holds: bool
    text: str


def at_least(name: str, measured: float, bound: float) -> Verdict:
    """Judge a lower bound."""
    return Verdict(measured >= bound, f"{name}: {measured:.2f}, at least {bound:g}")


def at_most(name: str, measured: float, bound: float) -> Verdict:
    """Judge an upper bound."""
    return Verdict(measured <= bound, f"{name}: {measured:.2f}, at most {bound:g}")


def counted(name: str, count: int, total: int, *, at_least: float = 0.0, at_most: float = 1.0) -> Verdict:
    """Judge a count by its share of a total; the text has the interval of the share (Wilson, 95 %)."""
    share = share_of(count, total)
    text = f"{name}: {count} of {total} ({share.low:.3f} to {share.high:.3f})"
    return Verdict(at_least <= count / total <= at_most, text)


def run(main: Callable[..., Iterable[Verdict] | None]) -> None:
    """Run a script with its parameters as options; print its verdicts as they come, and exit with 1 if one is bad.

    If machine code ends it, the stacks of its threads are on standard error: a fill once ended so.
    """
    show_faults()

    @functools.wraps(main)
    def command(**options: Any) -> None:
        bad = False
        for verdict in main(**options) or ():
            print(f"{'good' if verdict.holds else 'BAD '}  {verdict.text}", flush=True)
            bad |= not verdict.holds
        raise typer.Exit(int(bad))

    app = typer.Typer(add_completion=False, pretty_exceptions_enable=False, rich_markup_mode=None)
    app.command(help=sys.modules["__main__"].__doc__)(command)
    app()


def in_turns(pairs: int, measure: Callable[[bool], T]) -> Iterator[tuple[T, T]]:
    """Measure with and without something, in pairs.

    Each pair begins with the other kind, so that a machine that slows down favours neither.
    """
    for turn in range(pairs):
        both = {kind: measure(kind) for kind in (turn % 2 == 1, turn % 2 == 0)}
        yield both[True], both[False]


def print_row(*cells: object) -> None:
    """Print a row of a table in Markdown."""
    print(f"| {' | '.join(map(str, cells))} |", flush=True)


def print_head(*names: str) -> None:
    """Print the head of a table in Markdown."""
    print_row(*names)
    print_row(*["---"] * len(names))
