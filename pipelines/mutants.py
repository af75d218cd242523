"""Mutants: faults in pages, figures, gates and cards, each of which a test of pages or gates has to notice.

A mutant is the code with one fault: a comparison flipped, a sign inverted, the ends of an interval swapped, a value of
a table, a word or a condition changed. Faults are drawn, with a seed, from all that are possible in the modules below,
and each runs against the tests in a process of its own that ends with the first failure; some faults have names.
Nothing in the tree is changed. Prints a line for each mutant, and ends with 1 if fewer than 95 % are killed, a survivor
has no reason in `EXPLAINED`, or a named fault is not found in the code.
"""

import argparse
import ast
import os
import random
import shutil
import signal
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from pathlib import Path
from queue import SimpleQueue
from typing import Final

ROOT: Final = Path(__file__).parents[1]
SOURCE: Final = ROOT / "src" / "scoring_model"
TESTS: Final = (
    *(
        f"tests/pages/test_expected.py::test_{part}"
        for part in ("registry", "keys", "markdown", "frames", "card", "drawings", "pages")
    ),
    "tests/pages/test_documents.py",
    *(
        f"tests/pages/test_{part}.py"
        for part in ("tones", "verdicts", "numbers", "cells", "readers", "drawings")
    ),
    "tests/evaluation/test_comparison.py::test_benefits_hold_at_once",
    *(
        f"tests/evaluation/{part}.py"
        for part in ("test_gates", "test_evaluation", "report/test_comparison_page", "report/test_page")
    ),
)
"""The quick ones first."""

LEAST: Final = 0.95
SECONDS: Final = 1200

FOLDERS: Final = (
    "estimates*",
    "figures*",
    "evaluation/**/*",
    "monitoring/**/*",
    "training/backtest/**/*",
    "training/cards*",
    "service/past/whatif*",
)
"""Modules that pages, figures, gates and cards are made of; a new module in these folders is drawn from as well."""

ELSEWHERE: Final = {
    "statistics, compared with references by tests of their own": (
        "bounds", "cost", "curves", "draws", "decomposition", "estimator", "grouping",
        "measures", "metrics", "paired", "rates", "sequential", "stability",
        "uncertainty", "recalibration", "sequences", "shifts", "early", "drift", "categories",
        "possible", "possible_ranking", "labellings", "delays", "kinds", "single_column", "telling_columns",
        "groups", "late_frauds", "stopped",
    ),
    "reading and choosing of records, tested on files": (
        "checks", "column_reading", "comparing", "coverage", "evaluated_records", "holdout", "labels", "scored_files",
        "trained_records", "training_digests", "window", "importance", "reading",
    ),
    "trainings and services at work, tested with real ones": (
        "calendar", "fold", "judging", "matrices", "plan", "run", "workers", "workspace", "whatif",
    ),
}  # fmt: skip
"""Names of modules in these folders, but those of reports, that make no page: where their faults are sought."""

UPPER: Final = (
    "figures", "estimates", "configuration", "evaluation", "monitoring", "training", "service", "retraining",
    "cli", "client", "batch",
)  # fmt: skip
"""Packages that are loaded anew for each mutant; those below know none of them and are loaded once."""


@dataclass(frozen=True, kw_only=True)
class Named:
    """A fault with a name: a text of the code that stands in exactly one file, and what replaces it."""

    name: str
    text: str
    fault: str


NAMED: Final = (
    Named(
        name="clearly better where the challenger is worse",
        text='return "better" if (low > 0) == (wanted == "more") else "worse"',
        fault='return "better" if (low > 0) != (wanted == "more") else "worse"',
    ),
    Named(
        name="an undecided promise in green",
        text='Verdict.UNDECIDED: "open",',
        fault='Verdict.UNDECIDED: "good",',
    ),
    Named(
        name="a promise that rests on unknown data in green",
        text='None: ("open", "Drift not tested")',
        fault='None: ("good", "Drift not tested")',
    ),
    Named(
        name="a card that is open in green, by its style",
        text=".card.open { border-color: var(--open)",
        fault=".card.open { border-color: var(--accent)",
    ),
    Named(
        name="signs of differences in points inverted",
        text="return signed(100 * share)\n",
        fault="return signed(-100 * share)\n",
    ),
    Named(
        name="signs of differences of numbers inverted",
        text="return signed(value, digits=4)\n",
        fault="return signed(-value, digits=4)\n",
    ),
    Named(
        name="ends of differences of cadences exchanged for their tone",
        text="tone=tone_of(figure, difference))",
        fault="tone=tone_of(figure, difference.times(-1)))",
    ),
    Named(
        name="cells of pages without their tone",
        text="{% set classes = [cell.tone,",
        fault='{% set classes = ["",',
    ),
    Named(
        name="signs of daily changes exchanged",
        text='return f"+{text}" if value > 0 else',
        fault='return f"+{text}" if value < 0 else',
    ),
    Named(
        name="less of an error is worse",
        text='records that fail.",\n        better="less"',
        fault='records that fail.",\n        better="more"',
    ),
    Named(
        name="colours of better and worse exchanged",
        text='{"better": ACCENT, "worse": FRAUD, "": MUTED}',
        fault='{"better": FRAUD, "worse": ACCENT, "": MUTED}',
    ),
    Named(
        name="a gate that reaches its limit passes",
        text=" low > limits.above\n",
        fault=" low >= limits.above\n",
    ),
    Named(
        name="a gate without an interval passes",
        text="        return GateVerdict.NOT_ENOUGH_DATA\n    low, high =",
        fault="        return GateVerdict.PASSED\n    low, high =",
    ),
)

EXPLAINED: Final[dict[str, str]] = {
    "estimates.py: word: 'delays'": "one of the names of a type, which mypy checks",
    "evaluation/comparison_result.py: sign: -1": "of two ends the second is the last",
    "monitoring/plots.py: ends: one.high": "the axis ends where the made limit does",
    "evaluation/report/style.py: word: '#55c7b4'": "a shade of dark pages, whatever its name",
    "evaluation/report/words.py: word: 'stable'": "no two made codes are equally frequent",
    "evaluation/report/sections/ranking.py: ends: curve.low": "a curve lacks both ends or none",
    "evaluation/report/plots/reliability.py: sign: -1": "the axis ends where the made curve or its band does",
    "evaluation/report/style.py: word: 'constrained'": "the layout of a drawing that a notebook shows",
    "evaluation/report/style.py: word: '(xlink:href=\"|url\\\\()#'": "ids of made drawings do not meet",
    "evaluation/flips.py: sign: gained - lost": "that of a variance, which squares the difference",
    "evaluation/flips.py: comparison: abs(frauds) < 0.05": "the border: no made change is exactly 0.05 frauds a day",
    "evaluation/report/sections/groups.py: comparison: high < 0": "the border: no made gap ends at exactly 0",
    "evaluation/report/plots/scores.py: sign: -1": "the second and the last bin of made frauds are both empty",
    "evaluation/report/words.py: comparison: low > 0": "the border: an interval that reaches 0 has no tone before",
    "training/backtest/sections.py: sign: -1": "the made backtest has models of two ages: the second is the last",
    "evaluation/report/sections/differences.py: sign: new.x - 0.01": "its absolute value counts",
    "training/backtest/report.py: sign: -1": "the made backtest has two periods: the second is the last",
    "evaluation/report/style.py: comparison: len(ticks) < 3": (
        "the border: no made curve has exactly three powers of ten on its axis"
    ),
    "evaluation/report/plots/thresholds.py: sign: -1": "the array is constant, so each of its places is the same",
    "evaluation/report/comparison_page.py: comparison: comparison.days < MIN_BLOCKS": (
        "the border: no made comparison lies on exactly ten days"
    ),
    "evaluation/report/words.py: comparison: count <= most": "the border: just as many places are all of them",
    "training/backtest/plots.py: sign: -0.12": "where a legend stands",
    "evaluation/report/plots/ranking.py: comparison: len(ticks) > 8": "the border: no made axis has just eight ticks",
    "evaluation/report/plots/scores.py: comparison: threshold <= 1000": "the border: no made threshold is exactly 1000",
    "evaluation/figures.py: sign: -1": "days count from 0, so that any other number begins the first one",
    "evaluation/flips.py: sign: after.scores - before.scores": "its absolute value counts",
    "evaluation/flips.py: sign: len(rows) - 1": "places from the end are spread as evenly",
    "evaluation/report/comparison_page.py: sign: found.high - found.low": "half of a width, which is squared",
    "evaluation/report/plots/ranking.py: ends: curve.low": "a curve lacks both ends or none",
    "evaluation/report/plots/thresholds.py: sign: 0.55 * NEVER_REACHED": "on which side of a point its name stands",
    "evaluation/report/plots/thresholds.py: sign: -14": "how far from a point its name stands",
    "evaluation/report/sections/differences.py: sign: new - old": "its absolute value counts",
    "evaluation/report/style.py: table: {'Date': None, 'Creator': None, 'Format': None, 'Type': None}": "all are None",
    "evaluation/report/words.py: sign: value - round(value)": "its absolute value counts",
    "monitoring/report.py: sign: one.window_missing - one.reference_missing": "its absolute value counts",
    "evaluation/report/words.py: comparison: value > 0": "0 has returned before",
    "evaluation/report/plots/groups.py: condition: share.low is not None and share.high is not None": (
        "a share lacks both ends or none"
    ),
    "evaluation/flips.py: comparison: held >= MIN_BLOCKS": "the border: no made group is on exactly ten days",
    "evaluation/report/comparison_page.py: comparison: "
    "max((abs(change.everyone.value or 0.0) for change in changes)) < 1": (
        "the border: no made change is exactly 1 a day"
    ),
    "evaluation/report/plots/thresholds.py: comparison: step_up <= rate": "the border: no made rate is a round one",
}
"""Survivors, by the text of their line, with the reason why no page, gate or card shows them."""


@dataclass(frozen=True, kw_only=True)
class Mutant:
    """One fault.

    Parameters
    ----------
    path : str
        File below `SOURCE`.
    name : str
        What the fault does.
    text : str
        The file with the fault.
    """

    path: str
    name: str
    text: str


@dataclass(frozen=True, kw_only=True)
class Fault:
    """A fault at a place of a tree, not yet made."""

    kind: str
    line: int
    text: str
    make: Callable[[], None]


_COMPARED: Final[dict[type[ast.cmpop], type[ast.cmpop]]] = {
    ast.Lt: ast.GtE, ast.LtE: ast.Gt, ast.Gt: ast.LtE, ast.GtE: ast.Lt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.In: ast.NotIn, ast.NotIn: ast.In,
}  # fmt: skip
_BORDERS: Final[dict[type[ast.cmpop], type[ast.cmpop]]] = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt
}  # fmt: skip
_ENDS: Final = (("low", "high"), ("simultaneous_low", "simultaneous_high"))
_OTHER_END: Final = {one: other for pair in _ENDS for one, other in (pair, pair[::-1])}


def faults(tree: ast.Module) -> Iterator[Fault]:
    """Yield every fault that is possible in a module, in the order of its text."""
    for node in _walk(tree):
        if isinstance(node, ast.Compare) and len(node.ops) == 1:
            yield from _comparisons(node)
        elif isinstance(node, ast.UnaryOp | ast.BinOp):
            yield from _signs(node)
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Load) and node.attr in _OTHER_END:
            yield _fault("ends", node, partial(setattr, node, "attr", _OTHER_END[node.attr]))
        elif isinstance(node, ast.Dict) and len(node.values) > 1 and all(node.keys):
            yield _fault("table", node, partial(_rotate, node))
        elif isinstance(node, ast.IfExp):
            yield _fault("condition", node, partial(_exchange, node))
        elif isinstance(node, ast.BoolOp):
            yield _fault("condition", node, partial(_other_operator, node))
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and _is_word(node.value):
            yield _fault("word", node, partial(setattr, node, "value", f"{node.value}x"))


def _walk(node: ast.AST) -> Iterator[ast.AST]:
    """Yield what makes results: no docstrings, annotations, checks of arguments, or imports for types."""
    yield node
    for name, value in ast.iter_fields(node):
        if name in ("annotation", "returns", "decorator_list", "format_spec", "type_params"):
            continue
        for child in value if isinstance(value, list) else [value]:
            docstring = isinstance(child, ast.Expr) and isinstance(child.value, ast.Constant)
            types = isinstance(child, ast.If) and ast.unparse(child.test) == "TYPE_CHECKING"
            skipped = (
                docstring or types or isinstance(child, ast.Raise | ast.Assert | ast.Import | ast.ImportFrom)
            )
            skipped = skipped or (isinstance(node, ast.Compare) and _is_none(node) and name == "left")
            if isinstance(child, ast.AST) and not skipped and not _is_list_of_names(child):
                yield from _walk(child)


def _is_none(node: ast.Compare) -> bool:
    """Whether something is compared with None: the ends of an interval are absent together, so either would do."""
    return ast.unparse(node.comparators[0]) == "None"


def _is_list_of_names(node: ast.AST) -> bool:
    return isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__"


def _is_word(text: str) -> bool:
    return any(letter.isalpha() for letter in text)


def _comparisons(node: ast.Compare) -> Iterator[Fault]:
    (operator,) = node.ops
    yield _fault("comparison", node, lambda: node.ops.__setitem__(0, _COMPARED[type(operator)]()))
    if type(operator) in _BORDERS:
        yield _fault("comparison", node, lambda: node.ops.__setitem__(0, _BORDERS[type(operator)]()))


def _signs(node: ast.UnaryOp | ast.BinOp) -> Iterator[Fault]:
    if isinstance(node, ast.UnaryOp):
        if isinstance(node.op, ast.Not):
            yield _fault(
                "condition", node, lambda: setattr(node, "operand", ast.UnaryOp(ast.Not(), node.operand))
            )
        elif isinstance(node.op, ast.USub):
            yield _fault("sign", node, lambda: setattr(node, "op", ast.UAdd()))
    elif isinstance(node.op, ast.Sub):
        yield _fault("sign", node, lambda: _turn(node))
    elif isinstance(node.op, ast.Mult) and isinstance(node.left, ast.Constant):
        yield _fault("sign", node, lambda: setattr(node, "left", ast.UnaryOp(ast.USub(), node.left)))


def _rotate(node: ast.Dict) -> None:
    node.values.insert(0, node.values.pop())


def _turn(node: ast.BinOp) -> None:
    node.left, node.right = node.right, node.left


def _exchange(node: ast.IfExp) -> None:
    node.body, node.orelse = node.orelse, node.body


def _other_operator(node: ast.BoolOp) -> None:
    node.op = ast.Or() if isinstance(node.op, ast.And) else ast.And()


def _fault(kind: str, node: ast.AST, make: Callable[[], None]) -> Fault:
    text = " ".join(ast.unparse(node).split())
    return Fault(kind=kind, line=getattr(node, "lineno", 0), text=text, make=make)


def modules() -> list[str]:
    """The files that faults are drawn from, below `SOURCE`."""
    left_out = {name for names in ELSEWHERE.values() for name in names}
    found = {path for folder in FOLDERS for path in SOURCE.glob(folder) if path.suffix == ".py"}
    return sorted(
        path.relative_to(SOURCE).as_posix()
        for path in found
        if path.stem != "__init__" and (path.stem not in left_out or "report" in path.parts)
    )


def drawn_mutants(count: int, seed: int) -> list[Mutant]:
    """Draw faults, of each kind as many, without replacement."""
    places: dict[str, list[tuple[str, int]]] = {}
    for path in modules():
        for place, fault in enumerate(faults(ast.parse((SOURCE / path).read_text(encoding="utf-8")))):
            places.setdefault(fault.kind, []).append((path, place))
    generator, each = random.Random(seed), -(-count // len(places))
    return [
        _mutant(*place)
        for kind in sorted(places)
        for place in sorted(generator.sample(places[kind], min(each, len(places[kind]))))
    ]


def _mutant(path: str, place: int) -> Mutant:
    tree = ast.parse((SOURCE / path).read_text(encoding="utf-8"))
    fault = list(faults(tree))[place]
    fault.make()
    name = f"{fault.kind}: {_shortened(fault.text)}"
    return Mutant(
        path=path, name=f"line {fault.line}: {name}", text=ast.unparse(ast.fix_missing_locations(tree))
    )


def _shortened(text: str) -> str:
    return text if len(text) <= 100 else f"{text[:99]}…"


def named_mutants() -> Iterator[Mutant | str]:
    """Yield the named faults; a text for one whose place is not in the code any more, or twice."""
    files = {
        path.relative_to(SOURCE).as_posix(): path.read_text(encoding="utf-8")
        for folder in FOLDERS
        for path in SOURCE.glob(folder)
        if path.suffix in (".py", ".css", ".j2")
    }
    for fault in NAMED:
        held = [path for path, text in files.items() if text.count(fault.text) == 1]
        if len(held) != 1:
            yield f"NOT FOUND {fault.name}: say in NAMED where this fault is now"
            continue
        text = files[held[0]].replace(fault.text, fault.fault)
        yield Mutant(path=held[0], name=f"named: {fault.name}", text=text)


class Trees:
    """Copies of the package, each used by one process at a time; the mutant is a file that differs for a while."""

    def __init__(self, folder: Path, count: int) -> None:
        self._free: SimpleQueue[Path] = SimpleQueue()
        for place in range(count):
            tree = folder / str(place)
            shutil.copytree(SOURCE, tree / "scoring_model", ignore=shutil.ignore_patterns("__pycache__"))
            self._free.put(tree)

    def survives(self, mutant: Mutant | None) -> bool:
        """Run the tests on a mutant, or on the package as it is, in a process of its own: whether all pass."""
        tree = self._free.get()
        path = None if mutant is None else tree / "scoring_model" / mutant.path
        try:
            if path is not None and mutant is not None:
                path.write_text(mutant.text, encoding="utf-8")
            return _run(tree, mutant)
        finally:
            if path is not None and mutant is not None:
                shutil.copy2(SOURCE / mutant.path, path)  # with its time, so that its bytecode counts again
            self._free.put(tree)


def _run(tree: Path, mutant: Mutant | None) -> bool:
    child = os.fork()
    if not child:
        try:
            _test(tree, mutant)
        finally:
            os._exit(1)
    return os.waitpid(child, 0)[1] == 0


def _test(tree: Path, mutant: Mutant | None) -> None:
    """Load the upper packages from a copy of the tree, run the tests, and leave."""
    import pytest

    signal.alarm(SECONDS)  # ends a mutant that never does
    with open(os.devnull, "w", encoding="utf-8") as nowhere:
        os.dup2(nowhere.fileno(), 1)
        os.dup2(nowhere.fileno(), 2)
    sys.dont_write_bytecode = mutant is not None
    package = import_module("scoring_model")
    for name in [name for name in sys.modules if name.startswith("scoring_model.")]:
        if name.split(".")[1] in UPPER:
            del sys.modules[name]
    package.__path__ = [str(tree / "scoring_model"), *package.__path__]
    for name in UPPER:
        vars(package).pop(name, None)
    os.chdir(ROOT)
    arguments = (
        "-x",
        "-q",
        "-c",
        os.devnull,
        "--rootdir",
        str(ROOT),
        "--confcutdir=tests/pages",
        "--import-mode=importlib",
    )
    os._exit(int(pytest.main([*arguments, "-p", "no:cacheprovider", *TESTS])) != 0)


def _load() -> None:
    """Load everything that mutants share."""
    os.environ |= {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    os.environ.pop("WRITE_PAGES", None)
    sys.path.insert(0, str(ROOT / "tests" / "support"))
    for name in (
        "pytest",
        "pandas",
        "matplotlib.backends.backend_svg",
        "matplotlib.figure",
        "made_pages",
        "drawing_text",
    ):
        import_module(name)
    for name in ("made_results", "made_pages", "page_text", "drawing_text"):
        sys.modules.pop(name)


def main(arguments: Sequence[str] | None = None) -> int:
    """Make the mutants, run the tests on each, and say which are killed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--count", type=int, default=60, help="mutants that are drawn, besides the named ones"
    )
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--processes", type=int, default=2)
    options = parser.parse_args(arguments)
    named = list(named_mutants())
    missing = [one for one in named if isinstance(one, str)]
    mutants = [one for one in named if isinstance(one, Mutant)] + drawn_mutants(options.count, options.seed)
    _load()
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(options.processes) as pool:
        trees = Trees(Path(folder), options.processes)
        if not all(pool.map(trees.survives, [None] * options.processes)):
            print("the tests fail without a mutant", file=sys.stderr)
            return 1
        survivors, unexplained = 0, 0
        for mutant, survives in zip(mutants, pool.map(trees.survives, mutants), strict=True):
            line = f"{mutant.path}, {mutant.name}"
            reason = EXPLAINED.get(f"{mutant.path}: {mutant.name.partition(': ')[2]}")
            survivors += survives
            unexplained += survives and reason is None
            why = f" ({reason or 'NOT EXPLAINED'})" if survives else ""
            print(f"{'SURVIVED' if survives else 'killed  '} {line}{why}", flush=True)
    share = 1 - survivors / len(mutants)
    print("\n".join([*missing, f"{len(mutants)} mutants, {len(mutants) - survivors} killed: {share:.1%}"]))
    return int(share < LEAST or unexplained > 0 or bool(missing))


if __name__ == "__main__":
    sys.exit(main())
