"""What a retraining is given."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from scoring_model.records import Names
from scoring_model.service.store import EARLIEST

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

    from scoring_model.service.keys.keyring import Keyring

Report = Callable[[str], None]


class RetrainingError(ValueError):
    """A retraining cannot go on; the message says what to do."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Retraining:
    """What is retrained, from which records, and by which gates.

    Parameters
    ----------
    database : str
        URL of the service's database.
    keyring : Keyring
        Its master keys.
    configuration, gates : Path
        Recipe of the challenger, and what it must show; YAML.
    uri : str
        MLflow server or database with the registry.
    work : Path
        Folder of the challengers and their looks, of this service alone. It is created, for its owner alone.
    past : sequence of Path
        Files of records from before the service: Parquet, CSV or JSON Lines, with the names of `configuration` or
        those of the contract.
    names : {"contract", "own"}, optional
        Whose names count in a file of the past that has both.
    client : str, optional
        Client whose history is exported; needed if the database holds several histories.
    since : int
        Verifications from this instant on, microseconds.
    training : sequence of Path
        Folders with digests of the records of earlier trainings. Those in `work` are found anyway.
    keep : bool
        Whether the records, which are personal data, stay in `work`.
    anew : bool
        Whether to give up a challenger that waits, and to train another.
    wait : float
        Seconds to wait until every process of the service serves the new bundle.
    """

    database: str
    keyring: "Keyring" = field(repr=False)
    configuration: Path
    gates: Path
    uri: str
    work: Path
    past: Sequence[Path] = ()
    names: Names | None = None
    client: str | None = None
    since: int = EARLIEST
    training: Sequence[Path] = ()
    keep: bool = False
    anew: bool = False
    signing_key: Path | None = None
    public_key: "Ed25519PublicKey | None" = None
    wait: float = 30.0
    threads: int = 2
