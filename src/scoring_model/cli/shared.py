"""Options and arguments that several commands share, each declared once, and how their texts are read."""

from __future__ import annotations

import glob
import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal

import typer

from scoring_model.service.settings import DATABASES, SETTINGS

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey


def check_files(paths: list[Path] | None) -> list[Path] | None:
    """Refuse paths and patterns that name no file."""
    for path in paths or ():
        if not (path.is_file() or path.is_dir() or glob.glob(str(path), recursive=True)):
            raise typer.BadParameter(f"{path}: there is no such file")
    return paths


def read_instant(text: str) -> int:
    """Read the instant of an option, in microseconds."""
    from scoring_model.records import microseconds

    try:
        return microseconds(text)
    except ValueError as error:
        raise typer.BadParameter(f"{error}; a date is enough") from error


def read_bytes(text: str) -> int:
    """Read a size such as 4GB or 500MB; units are powers of ten."""
    match = re.fullmatch(r"(\d{1,6}(?:\.\d{1,3})?)\s*(MB|GB)", text.strip(), re.IGNORECASE)
    if match is None:
        raise typer.BadParameter(f"must be like 4GB or 800MB, got {text!r}")
    return int(float(match[1]) * (10**6 if match[2].upper() == "MB" else 10**9))


def now() -> int:
    """Return the current time, in microseconds since 1970-01-01 UTC."""
    from scoring_model.service.core.clock import SystemClock

    return SystemClock().now()


def read_begin(text: str) -> int:
    """Read an age (such as 180d) or a time as an instant, in microseconds."""
    from scoring_model.records.times import parse_duration

    try:
        return now() - parse_duration(text)
    except ValueError:
        return read_instant(text)


def read_end(text: str) -> int:
    """Read how long from now (such as 30d), a day, which still counts, or a time; gives its end, in microseconds."""
    from scoring_model.records.times import end_of, is_end, parse_duration

    try:
        return end_of(text) if is_end(text) else now() + parse_duration(text)
    except ValueError as error:
        raise typer.BadParameter(f"{error}, or a day, or a time of RFC 3339") from error


def key_of(path: Path | None) -> Ed25519PublicKey | None:
    """Read the public key that verifies the signature of a bundle, if a path is given."""
    from scoring_model.bundle.seal import load_public_key

    return None if path is None else load_public_key(path)


def signing_key_of(path: Path | None) -> Ed25519PrivateKey | None:
    """Read the private key that signs a bundle, if a path is given."""
    from scoring_model.bundle.seal import load_private_key

    return None if path is None else load_private_key(path)


def check_folder(path: Path | None) -> Path | None:
    """Refuse a file for a result whose folder does not exist, before any work begins."""
    if path is not None and not path.parent.is_dir():
        raise typer.BadParameter(f"{path.parent}: there is no such folder for {path.name}")
    return path


def check_report(path: Path | None) -> Path | None:
    """Refuse a report without the libraries that draw it, or without its folder, before any work begins."""
    if check_folder(path) is not None:
        from scoring_model.evaluation.report.style import require_libraries

        require_libraries()
    return path


def setting(name: str, text: str | None = None, **more: Any) -> Any:
    """Make the option of a setting of the service, which its environment variable sets too."""
    known = SETTINGS[name]
    return typer.Option(envvar=known.variable, show_envvar=False, help=text or known.help, **more)


def _files(metavar: str) -> Any:
    return typer.Argument(
        metavar=metavar,
        callback=check_files,
        help="Records: Parquet, CSV or JSON Lines. Several files, a folder, or a pattern in quotes, are read as one.",
    )


# Records
Files = Annotated[list[Path], _files("FILE...")]
OptionalFiles = Annotated[list[Path] | None, _files("[FILE...]")]
Config = Annotated[Path, typer.Option(exists=True, dir_okay=False, help="Configuration of the use.")]
Names = Annotated[
    Literal["contract", "own"] | None,
    typer.Option(
        "--names",
        help="Whose names and spellings count in a file that has the columns of both: the contract's, as exports have "
        "them, or your own, of records.columns. By default records.names says it, or such a file is refused.",
    ),
]
RulesFile = Annotated[
    Path | None,
    typer.Option(
        "--rules",
        exists=True,
        dir_okay=False,
        help="Rules that decide after score and thresholds, YAML (docs/rules.md). Lists are for the service alone.",
    ),
]
MaxBadShare = Annotated[
    float, typer.Option(min=0, max=1, help="Largest share of bad rows; above it nothing is done.")
]
_HISTORY: Final = "File of earlier records, for the history of the others alone; may be given several times."
History = Annotated[list[Path] | None, typer.Option(exists=True, dir_okay=False, help=_HISTORY)]
FolderHistory = Annotated[
    list[str] | None, typer.Option(help=f"{_HISTORY} For a folder as --out also a pattern, folder or URI.")
]
AllowRepeats = Annotated[
    bool,
    typer.Option(
        "--allow-repeats",
        help="Leave records out of --history that are among the others too, by recordId. Without it they are an "
        "error, since later records would count them twice.",
    ),
]
Labels = Annotated[
    Path | None,
    typer.Option(
        exists=True,
        dir_okay=False,
        help="File of labels by recordId, for a scored file or in place of the labels of records.",
    ),
]
EarlierThan = Annotated[
    int | None,
    typer.Option(
        parser=read_instant,
        metavar="INSTANT",
        help="Leave out records that happened and labels that became known then or later, as if the file ended there. "
        "Replaces training.split.as_of.",
    ),
]
AS_OF: Final = "Instant before which labels count; by default just after the latest event or label."
AsOf = Annotated[int | None, typer.Option(parser=read_instant, metavar="INSTANT", help=AS_OF)]

# Bundles
BundlePath = Annotated[Path, typer.Argument(help="Directory of the bundle.")]
NewBundle = Annotated[Path, typer.Option("--out", help="Directory of the bundle to write.")]
Replace = Annotated[bool, typer.Option(help="Replace what stands at --out.")]
PublicKey = Annotated[
    Path | None, typer.Option(exists=True, dir_okay=False, help=SETTINGS["public_key"].help)
]
SigningKey = Annotated[
    Path | None, typer.Option(exists=True, dir_okay=False, help="Ed25519 private key, PEM: signs the bundle.")
]
Registry = Annotated[
    str, typer.Option(envvar="MLFLOW_TRACKING_URI", help="MLflow server or database with the registry.")
]

# Judging
By = Annotated[
    list[str] | None,
    typer.Option(
        metavar="COLUMN[=VALUE]",
        help="Column to group by: a field, a signal, ageBand or another column. Each group is compared with all "
        "other records, or with the group of VALUE. Write == for an equals sign in COLUMN. May be given several times.",
    ),
]
Training = Annotated[
    list[Path] | None,
    typer.Option(
        "--training",
        exists=True,
        file_okay=False,
        help="Folder of a training, with keyed digests of its records, which find records that a model was trained "
        "on; that beside a bundle is found without it. May be given several times.",
    ),
]
GatesFile = Annotated[
    Path | None,
    typer.Option(
        exists=True, dir_okay=False, help="Gates to check, YAML; they set the exit code. See docs/gates.md."
    ),
]
LabelMaturity = Annotated[
    str | None,
    typer.Option(
        help="Age after which an unlabelled record counts as genuine, such as 60d; by default the bundles'."
    ),
]
MaturedOnly = Annotated[
    bool,
    typer.Option(
        "--matured-only",
        help="Leave out records younger than the label maturity, even where their label is known.",
    ),
]

# Running and results
Threads = Annotated[int, typer.Option(min=1, help="Threads; results do not depend on them.")]
FolderThreads = Annotated[
    int, typer.Option(min=1, help="Threads, or processes for a folder; results do not depend on them.")
]
Memory = Annotated[
    int | None,
    typer.Option(
        parser=read_bytes,
        metavar="SIZE",
        help="Limit for all processes together, by default 4GB, with --dask 2GB for each. [folder]",
    ),
]
Resume = Annotated[bool, typer.Option("--resume", help="Continue an interrupted run. [folder]")]
ResumeWork = Annotated[bool, typer.Option("--resume/--no-resume", help="Continue an interrupted run.")]
WorkFolder = Annotated[
    Path | None,
    typer.Option(
        file_okay=False, help="Folder for spilled rows, by default _work in the folder of --out. [folder]"
    ),
]
Dask = Annotated[
    str | None,
    typer.Option(
        metavar="ADDRESS",
        help="Run on the workers of a Dask scheduler, such as tcp://scheduler:8786, or of local:N, which starts N "
        "processes; see docs/files.md. Needs the extra [dask].",
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]
JsonFile = Annotated[
    Path | None, typer.Option("--json", callback=check_folder, help="File for the whole result as JSON.")
]
ReportFile = Annotated[
    Path | None,
    typer.Option(
        "--report",
        callback=check_report,
        help="File for the report: one HTML page, for people. Needs the extra [train].",
    ),
]

# The service
Database = Annotated[str, setting("database", f"{DATABASES}; else {SETTINGS['database'].variable}.")]
OfDatabase = Annotated[
    str | None,
    typer.Option(
        "--database",
        help="Database of a service, whose verifications are read; SCORING_MODEL_DATABASE where no files are given.",
    ),
]
MasterKey = Annotated[str | None, setting("master_key")]
Since = Annotated[
    int | None,
    typer.Option(
        parser=read_begin,
        metavar="AGE|TIME",
        help="Only verifications from this age (180d) or time on; by default all.",
    ),
]
Wait = Annotated[
    float, typer.Option("--wait", min=0, help="Seconds to wait for the answers of all processes.")
]
_CLIENT: Final = "Identifier of the client, as `clients list` shows it."
ClientId = Annotated[str, typer.Argument(help=_CLIENT)]
ClientOption = Annotated[str, typer.Option("--client", help=_CLIENT)]
OfClient = Annotated[str | None, typer.Option("--client", help="Only those of this client: its x-client-id.")]
HistoryOf = Annotated[
    str | None,
    typer.Option(
        "--client",
        help="Client whose history is exported, with those that share it; needed if there is more than one history.",
    ),
]
VerificationId = Annotated[str, typer.Argument(metavar="ID", help="Identifier of the verification.")]
Limit = Annotated[int, typer.Option("--limit", min=1, max=10_000, help="Most of them to list.")]

ImportedFile = Annotated[
    Path, typer.Argument(metavar="FILE", exists=True, dir_okay=False, help=".csv, .jsonl or .ndjson.")
]
