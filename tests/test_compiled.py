"""Compiled code is that of its own source and signature, whoever compiles it and in whatever order."""

import importlib
import os
import subprocess
import sys
import threading
from io import BytesIO
from pathlib import Path
from types import FunctionType, GenericAlias
from typing import Any

import numpy as np
import pytest
from numba import njit
from numba.core.registry import CPUDispatcher

import scoring_model
from scoring_model.batch.text_blocks import text_blocks
from scoring_model.compiled import CodeFile, _kind
from scoring_model.decision.forest import Forest
from scoring_model.evaluation.draws import Draws
from scoring_model.history import COUNT_KINDS, STATISTICS, LinkCounts, TableAmounts, WindowSpec
from scoring_model.history.sweep import TableLabels, sweep
from scoring_model.records.times import DAY
from scoring_model.scorer.leaf_masks import LeafMasks
from window_oracle import AMOUNTS

SPEC = WindowSpec(
    windows=(3, 10),
    cap=4,
    delay=9,
    delayed=(5, 30),
    amounts=AMOUNTS,
    counts=COUNT_KINDS,
    statistics=STATISTICS,
)


def compiled_functions() -> dict[str, Any]:
    """All compiled functions of the package, by name: those that Python calls, and those that these call."""
    root = Path(scoring_model.__file__).parent
    sources = {path: path.read_text(encoding="utf-8") for path in root.rglob("*.py")}
    assert [path.name for path, text in sources.items() if "from numba import" in text] == ["compiled.py"]
    files = [path for path, text in sources.items() if "scoring_model.compiled import" in text]
    names = [".".join(path.relative_to(root.parent).with_suffix("").parts) for path in files]
    found: dict[str, Any] = {}
    for module in map(importlib.import_module, names):
        for name, value in vars(module).items():
            if value is getattr(module, name) and getattr(value, "__module__", None) == module.__name__:
                kernel = value if isinstance(value, CPUDispatcher) else getattr(value, "kernel", None)
                found |= {} if kernel is None else {f"{module.__name__}.{name}": kernel}
    return found


def forest() -> Forest:
    """Two trees of one split each, one numeric and one of a category."""
    integers = {
        "tree_splits": [0, 1, 2],
        "tree_leaves": [0, 2, 4],
        "feature": [0, 1],
        "category_set": [-1, 0],
        "left": [~0, ~2],
        "right": [~1, ~3],
        "split_count": [2, 2],
        "set_starts": [0, 1],
        "set_codes": [3],
        "leaf_count": [1] * 4,
    }
    return Forest(
        feature_count=2,
        threshold=np.array([0.5, 0.0]),
        missing=np.array([2, 0], np.int8),
        default_left=np.array([True, False]),
        leaf_value=np.array([0.0, 1.0, 2.0, 4.0]),
        **{name: np.array(value) for name, value in integers.items()},
    )


def odd(array: Any) -> Any:
    """The same array as every second element of another one, which cannot be written to."""
    wide = np.repeat(array, 2, axis=0)[::2]
    wide.flags.writeable = False
    return wide


def counted(kind: Any) -> LinkCounts:
    """Counts of everything under a key."""
    rng = np.random.default_rng(1)
    keys, times, persons = kind(rng.integers(0, 3, (3, 40)))
    labels = TableLabels(kind(rng.integers(0, 40, 9)), kind(np.arange(9) * 3), kind(np.arange(9) % 2 == 0))
    present = kind(np.arange(40) % 5 > 0)
    amounts = [
        TableAmounts(units=kind(np.arange(40) + place), present=present) for place in range(len(AMOUNTS))
    ]
    return sweep(keys, kind(times * 7), persons, labels, SPEC, amounts, first=5)


def use(kind: Any) -> list[Any]:
    """Use every compiled function, with arrays of a kind and with numbers of numpy."""
    counts = counted(kind)
    masks = LeafMasks(forest())
    rows = kind(np.array([[0.1, 3.0], [np.nan, 1.0], [0.9, np.nan]]))
    draws = Draws.of(kind(np.arange(30) * DAY))
    codes = kind(np.arange(30) % 2)
    blocks = text_blocks(BytesIO(b"a,b\n1,2\n\n3,4\n"), np.int32(1), separator=",", header=True)  # type: ignore[arg-type]
    lines = text_blocks(BytesIO(b"{}\n{}\n"), 1, separator=None, header=False)
    return [
        counts.records,
        counts.delayed_frauds,
        *[part for sums in counts.sums for part in (sums.units, sums.variances, sums.highest, sums.above)],
        masks.margins(rows),
        masks.margins(rows, threads=2),
        *draws.drawn_counts(codes, 2),
        *draws.drawn_weights(codes, 2, kind(np.linspace(0, 1, 30))),
        list(blocks),
        list(lines),
    ]


def called(function: FunctionType) -> set[Any]:
    """Compiled functions that a function names."""
    named = [function.__globals__.get(name) for name in function.__code__.co_names]
    return {value for value in named if isinstance(value, CPUDispatcher)}


def test_every_function_has_one_signature() -> None:
    """Read-only and scattered arrays, and numbers of other types, give the same results with the same code."""
    functions = compiled_functions()
    for plain, scattered in zip(use(np.asarray), use(odd), strict=True):
        np.testing.assert_array_equal(plain, scattered)
    inner = {name: kernel for name, kernel in functions.items() if kernel._cache.cache_path is None}
    for name, kernel in functions.items():
        # Code that was loaded holds that of the functions it calls: only compiling it again shows their types.
        loaded = name not in inner and not kernel.stats.cache_misses
        if loaded and set(inner.values()) & called(kernel.py_func):
            njit(nogil=True)(kernel.py_func).compile(kernel.signatures[0])
    assert len(functions) == 22
    assert {
        name: kernel.signatures for name, kernel in functions.items() if len(kernel.signatures) != 1
    } == {}


KEYS = [(("int64",), "cpu", "bytecode"), (("float64",), "cpu", "bytecode")]
"""Of two signatures of one function."""


def code_file(folder: Path, source: str = "source") -> CodeFile:
    """What one process keeps the code of a function in."""
    return CodeFile(str(folder), "module.function-7.py311", source)


def test_no_signature_gets_the_code_of_another(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two processes find nothing; the second writes its index first and its code last. Each code stays its own's."""
    first, second = code_file(tmp_path), code_file(tmp_path)
    both, indexed, written = threading.Barrier(2), threading.Event(), threading.Event()
    look, write_index, write = CodeFile._load_index, CodeFile._save_index, CodeFile._save_data

    def look_together(self: CodeFile) -> Any:
        found = look(self)
        both.wait(10)
        return found

    def index_second_first(self: CodeFile, *given: Any) -> None:
        assert self is second or indexed.wait(10)
        write_index(self, *given)
        indexed.set()

    def write_second_last(self: CodeFile, *given: Any) -> None:
        assert self is first or written.wait(10)
        write(self, *given)
        written.set()

    with monkeypatch.context() as forced:
        forced.setattr(CodeFile, "_load_index", look_together)
        forced.setattr(CodeFile, "_save_index", index_second_first)
        forced.setattr(CodeFile, "_save_data", write_second_last)
        threads = [
            threading.Thread(target=one.save, args=(key, f"code of {key[0][0]}"))
            for one, key in zip((first, second), KEYS, strict=True)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert [code_file(tmp_path).load(key) for key in KEYS] == ["code of int64", "code of float64"]


def test_code_of_another_source_is_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A process that is killed before it wrote the code of a new source leaves the old one, which is not used."""
    code_file(tmp_path, "old").save(KEYS[0], "old code")
    with monkeypatch.context() as killed:
        killed.setattr(CodeFile, "_save_data", lambda *_: None)
        code_file(tmp_path, "new").save(KEYS[0], "new code")
    assert code_file(tmp_path, "new").load(KEYS[0]) is None
    code_file(tmp_path, "new").save(KEYS[0], "new code")
    assert [code_file(tmp_path, source).load(KEYS[0]) for source in ("old", "new")] == [None, "new code"]
    assert len(list(tmp_path.iterdir())) == 1
    next(tmp_path.iterdir()).write_bytes(b"torn")
    assert code_file(tmp_path, "new").load(KEYS[0]) is None


ONE_FUNCTION = """
import sys
from scoring_model.compiled import compiled

@compiled
def negative(number: int) -> int:
    return -number

print(flush=True)
sys.stdin.readline()
negative(1)
print(sum(negative.kernel.stats.cache_misses.values()))
"""


def test_processes_compile_once(tmp_path: Path) -> None:
    """Of processes that first need a function at once, one compiles it; the others wait for its code."""
    script = tmp_path / "one_function.py"
    script.write_text(ONE_FUNCTION, encoding="utf-8")
    processes = [
        subprocess.Popen([sys.executable, script], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        for _ in range(2)
    ]
    for process in processes:
        assert process.stdout is not None
        process.stdout.readline()
    for process in processes:
        assert process.stdin is not None
        process.stdin.write("\n")
        process.stdin.flush()
    answers = [process.communicate()[0] for process in processes]
    assert sorted(answers) == ["0\n", "1\n"]


def test_an_array_may_be_annotated_by_an_alias() -> None:
    """NDArray of numpy 2.5, which Python 3.12 and later get, is an alias with the type of elements alone."""
    alias = GenericAlias(np.ndarray, (np.float64,))  # what the alias gives to `get_args`
    kept = np.ones(2)
    assert _kind("x", alias)(kept) is kept
    with pytest.raises(TypeError, match="x must be of float64, got int64"):
        _kind("x", alias)(np.ones(2, np.int64))


FAULTS = "import faulthandler; from shared.script import run; run(lambda: print(faulthandler.is_enabled()))"


def test_benchmarks_show_where_machine_code_ends_them() -> None:
    """All of them are run by what turns the fault handler on."""
    folder = Path(__file__).parents[1] / "benchmarks"
    scripts = [path.read_text(encoding="utf-8") for path in folder.glob("*.py")]
    assert all(text.endswith(("    run(main)\n", "    run_script(main)\n")) for text in scripts)
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONFAULTHANDLER"}
    environment["PYTHONPATH"] = str(folder)
    shown = subprocess.run(
        [sys.executable, "-c", FAULTS], env=environment, capture_output=True, text=True, check=True
    )
    assert shown.stdout == "True\n"
