"""Snapshot: what a change of structure must leave as it is, as a folder of texts; compare it with an earlier one.

`snapshot.py FOLDER` writes: the files of a small bundle by digest, with its versions, and the numbers of its manifest,
evaluation and card by key; a scored file with its reasons; the features that the model reads; the export of a service;
the description of the HTTP interface; options and exit codes of all commands; names and signatures of the Python
interface and of the client; the configurations that are shipped and documented; names of metrics in MLflow; and frames
and pages of made results. `--against EARLIER` prints what differs, and ends with 1 if anything does. Pages may grow:
only a text that an earlier page had and this one lacks is a difference.
"""

import argparse
import asyncio
import contextlib
import difflib
import hashlib
import importlib
import inspect
import io
import json
import pkgutil
import re
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyarrow.parquet as pq

ROOT: Final = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "tests" / "support"))

RECORDS, SCORED, SEED, MONTHS = 5_000, 120, 7, 12
UNSEALED: Final = ("manifest.json", "evaluation.json", "card.md")
"""Files of a bundle whose numbers alone are compared, by key: they hold times, durations and the form of documents."""
MEASURED: Final = re.compile(r"second|duration|created|time|version|sha256|bytes|platform|python")
"""Keys of such documents that differ from machine to machine, or from commit to commit."""

PACKAGES: Final = (
    "scoring_model", "scoring_model.bundle", "scoring_model.client", "scoring_model.configuration",
    "scoring_model.evaluation", "scoring_model.evaluation.report", "scoring_model.monitoring", "scoring_model.records",
    "scoring_model.scorer", "scoring_model.synthetic", "scoring_model.training.backtest",
)  # fmt: skip
"""Packages whose names people import."""

GROWING: Final = "pages"
"""Folder of the snapshot whose texts are sets of lines that may grow."""


def write(path: Path, text: str) -> None:
    """Write a text of the snapshot."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def as_json(value: object) -> str:
    """Write a value so that differences are lines."""
    return json.dumps(value, indent=1, ensure_ascii=False, sort_keys=True, default=str) + "\n"


def run(*arguments: object) -> int:
    """Run a command of the program in this process; what it says goes nowhere."""
    from scoring_model.cli import main

    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        return main([str(argument) for argument in arguments])


def numbers(value: object, key: str = "") -> Iterator[tuple[str, object]]:
    """Yield the numbers of a document with their keys."""
    if isinstance(value, Mapping):
        for name, inner in value.items():
            yield from numbers(inner, f"{key}.{name}" if key else str(name))
    elif isinstance(value, list):
        for place, inner in enumerate(value):
            yield from numbers(inner, f"{key}[{place}]")
    elif isinstance(value, int | float) and not MEASURED.search(key.lower()):
        yield key, value


def record_bundle(work: Path, out: Path) -> Path:
    """Train a small bundle; record its files, versions and numbers, a scored file and the features that it read."""
    from identity_use import relaxed, write_configuration
    from scoring_model import synthetic
    from scoring_model.bundle import read_bundle

    history, new, bundle = work / "history.parquet", work / "new.parquet", work / "bundle"
    synthetic.write(history, records=RECORDS, seed=SEED, months=MONTHS)
    table = pq.read_table(history).sort_by("eventTime")
    pq.write_table(table.slice(0, RECORDS - SCORED), history)
    pq.write_table(table.slice(RECORDS - SCORED), new)
    text = relaxed().replace("{max_records: 2000}", "{run: false}")
    config = write_configuration(work, text)
    _done(run("train", history, "--config", config, "--out", bundle, "--threads", 1, "--no-track"))
    files = {path.name: path.read_bytes() for path in sorted(bundle.iterdir())}
    digests = {name: hashlib.sha256(data).hexdigest() for name, data in files.items() if name not in UNSEALED}
    manifest = read_bundle(bundle).manifest
    versions = {"model": manifest.model_version, "policy": manifest.policy_version}
    write(out / "bundle" / "files.json", as_json(digests | versions))
    for name in UNSEALED[:2]:
        write(out / "bundle" / name, as_json(dict(numbers(json.loads(files[name])))))
    write(out / "bundle" / "card.txt", "\n".join(_card_numbers(files["card.md"].decode())) + "\n")
    scored, read = work / "scored.jsonl", work / "features.parquet"
    common = ("--history", history, "--threads", 1)
    _done(run("score", bundle, new, "--out", scored, "--reasons", *common))
    write(out / "scored.jsonl", scored.read_text(encoding="utf-8"))
    _done(run("features", bundle, new, "--out", read, "--contributions", *common))
    write(out / "features.jsonl", _lines(pq.read_table(read)))
    evaluation, listed = work / "evaluation.json", io.StringIO()
    _done(run("evaluate", bundle, new, "--json", evaluation, "--by", "address.country", *common))
    write(out / "evaluation.json", as_json(dict(numbers(json.loads(evaluation.read_text(encoding="utf-8"))))))
    with contextlib.redirect_stdout(listed):
        from scoring_model.cli import main

        _done(main(["features", "--config", str(config), "--json"]))
    write(out / "features.json", as_json(json.loads(listed.getvalue())))
    return bundle


def _done(code: int) -> None:
    if code:
        raise SystemExit(f"a command that the snapshot needs ended with {code}")


def _lines(table: pa.Table) -> str:
    return "".join(json.dumps(row, default=str, ensure_ascii=False) + "\n" for row in table.to_pylist())


def _card_numbers(card: str) -> Iterator[str]:
    """Yield the numbers of a card by section, row and head."""
    from page_text import markdown_grids

    for grid in markdown_grids(card):
        for row in grid.rows:
            cells = zip(grid.heads[1:], row[1:], strict=True)
            yield from (
                f"{grid.under} / {row[0]} / {head}: {cell}" for head, cell in cells if re.search(r"\d", cell)
            )


def record_export(bundle: Path, work: Path, out: Path) -> None:
    """Verify some persons with a service, and record the export without the ids, which are drawn."""
    from scoring_model.service.keys.data_keys import Vault
    from scoring_model.service.past.export import export_file
    from scoring_model.service.store import migrate
    from service_use import MASTERS, World, applicants, run_story

    url, file = f"sqlite:///{work / 'service.db'}", work / "export.parquet"
    asyncio.run(migrate(url))

    async def story(world: World) -> None:
        caller = await world.client()
        for applicant in applicants(bundle)[:6]:
            resource = await world.identity(caller, applicant.identity)
            await world.verify(caller, identity=resource, signals=applicant.signals)
            world.clock.advance(3600)
        async with world.store.reading() as reader:
            clients = await reader.clients()
        before = world.clock.at + 1
        await export_file(world.store, Vault(MASTERS), clients, file, signals={}, since=0, before=before)

    run_story(url, bundle, story)
    table = pq.read_table(file)
    drawn = [name for name in table.column_names if re.search(r"(?i)id$", name)]
    schema = "".join(f"{column.name}: {column.type}\n" for column in table.schema)
    write(out / "export.txt", f"{schema}{_lines(table.drop_columns(drawn))}")


def record_commands(out: Path) -> None:
    """Record every command with its arguments and options, and exit codes: named ones, of wrong usage, of gates."""
    import typer

    import made_results
    from scoring_model.cli.app import app

    found = {name: _command(command) for name, command in _walk(typer.main.get_command(app))}
    write(out / "commands.json", as_json(found))
    held = dict(sorted(set(_exit_codes())))
    usage = {name: [run(*name.split(), "--help"), run(*name.split(), "--no-such-option")] for name in found}
    made = (made_results.comparison_gates(), made_results.passing_gates(), made_results.bare_window_gates())
    gates = [report.exit_code for report in made]
    write(out / "exit_codes.json", as_json({"named": held, "help and wrong option": usage, "gates": gates}))


def _walk(command: Any, name: str = "") -> Iterator[tuple[str, Any]]:
    for word, inner in getattr(command, "commands", {}).items():
        path = f"{name} {word}".strip()
        if hasattr(inner, "commands"):
            yield from _walk(inner, path)
        else:
            yield path, inner


def _command(command: Any) -> list[dict[str, object]]:
    keys = (
        "name",
        "opts",
        "secondary_opts",
        "required",
        "multiple",
        "nargs",
        "envvar",
        "metavar",
        "min",
        "max",
    )
    return [
        {key: getattr(one, key, None) for key in keys}
        | {"kind": one.param_type_name, "type": one.display_type(None), "default": _default(one.default)}
        for one in command.params
    ]


def _default(value: object) -> object:
    return "computed" if callable(value) else str(value)


def _exit_codes() -> Iterator[tuple[str, int]]:
    """Yield the constants of the program's modules that are exit codes, by what is raised."""
    for path in sorted((ROOT / "src" / "scoring_model" / "cli").glob("**/*.py")):
        text = path.read_text(encoding="utf-8")
        for name in re.findall(r"\b([A-Z][A-Z_]+)\b", "\n".join(re.findall(r"Exit\((.*)\)", text))):
            module = importlib.import_module(f"scoring_model.cli.{path.stem}")
            value = getattr(module, name, None)
            if isinstance(value, int):
                yield name, value
            elif isinstance(value, dict):
                yield from ((f"{name}[{key}]", code) for key, code in value.items())


def record_names(out: Path) -> None:
    """Record the public names of the packages, with signatures."""
    for package in PACKAGES:
        module = importlib.import_module(package)
        names = {name: getattr(module, name) for name in getattr(module, "__all__", ())}
        lines = [line for name, value in sorted(names.items()) for line in _signatures(name, value)]
        write(out / "names" / f"{package}.txt", "\n".join(lines) + "\n")
    found = sorted(
        one.name for one in pkgutil.iter_modules(importlib.import_module("scoring_model").__path__)
    )
    write(out / "names" / "packages.txt", "\n".join(found) + "\n")


def _signatures(name: str, value: object) -> Iterator[str]:
    """Yield a line for a function, for a class also its public members."""
    if not callable(value):
        yield f"{name}: {type(value).__name__}"
        return
    yield f"{name}{_signature(value)}"
    for member, inner in sorted(vars(value).items()) if isinstance(value, type) else ():
        if not member.startswith("_"):
            plain = inner.__func__ if isinstance(inner, classmethod | staticmethod) else inner
            yield f"{name}.{member}{_signature(plain) if callable(plain) else ''}"


def _signature(value: Callable[..., Any]) -> str:
    try:
        return re.sub(r"\b(?:[a-z_]\w*\.)+(?=\w)| at 0x\w+", "", str(inspect.signature(value)))
    except (TypeError, ValueError):
        return "(...)"


def record_documents(out: Path) -> None:
    """Record the description of the HTTP interface, and the configurations that are shipped and documented."""
    from scoring_model.service.http.openapi import openapi

    write(out / "openapi.json", as_json(openapi()))
    for path in sorted([*ROOT.glob("configs/*.yaml"), *(ROOT / "src").glob("**/*.yaml")]):
        write(out / "yaml" / path.name, path.read_text(encoding="utf-8"))
    for path in sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/*.md")]):
        if blocks := re.findall(r"```ya?ml\n(.*?)```", path.read_text(encoding="utf-8"), re.DOTALL):
            write(out / "yaml" / f"{path.stem}.md.yaml", "---\n".join(blocks))


def record_results(out: Path) -> None:
    """Record pages, Markdown, frames and metrics of made results."""
    import made_pages
    import made_results
    from scoring_model.training.run_description import metrics

    for name in made_pages.REPORTS:
        write(out / GROWING / f"{name}.txt", _growing(made_pages.page(name).lines()))
    for name, make in made_pages.FRAMES.items():
        write(out / "frames" / f"{name}.csv", make().to_csv(index=False))
    names = [name for name, _ in metrics(made_results.made_evaluation())]
    write(out / "mlflow_metrics.txt", "\n".join(names) + "\n")


def _growing(lines: Iterator[tuple[str, ...]]) -> str:
    return "".join(f"{line}\n" for line in sorted({" :: ".join(parts) for parts in lines}))


def record(out: Path) -> None:
    """Write the whole snapshot."""
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        bundle = record_bundle(work, out)
        record_export(bundle, work, out)
    record_commands(out)
    record_names(out)
    record_documents(out)
    record_results(out)


def differences(earlier: Path, later: Path) -> Iterator[str]:
    """Yield what differs, as lines."""
    files = {
        path.relative_to(folder)
        for folder in (earlier, later)
        for path in folder.glob("**/*")
        if path.is_file()
    }
    for file in sorted(files):
        texts = [
            (folder / file).read_text(encoding="utf-8") if (folder / file).exists() else ""
            for folder in (earlier, later)
        ]
        old, new = (text.splitlines() for text in texts)
        if file.parts[0] == GROWING:
            yield from (f"{file}: gone: {line}" for line in old if line not in set(new))
        elif old != new:
            found = list(difflib.unified_diff(old, new, f"earlier/{file}", f"later/{file}", lineterm="", n=0))
            yield from found[:40]
            if len(found) > 40:
                yield f"{file}: and {len(found) - 40} more lines"


def main(arguments: Sequence[str] | None = None) -> int:
    """Write a snapshot, and compare it if asked."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, help="folder to write, new or empty")
    parser.add_argument("--against", type=Path, help="folder of an earlier snapshot")
    options = parser.parse_args(arguments)
    if options.folder.exists() and any(options.folder.iterdir()):
        parser.error(f"{options.folder} is not empty")
    if options.against is not None and not options.against.is_dir():
        parser.error(f"{options.against}: there is no such folder")
    record(options.folder)
    found = [] if options.against is None else list(differences(options.against, options.folder))
    print(
        "\n".join(found) if found else "nothing differs" if options.against else f"written: {options.folder}"
    )
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main())
