"""The journal of a tuning: an Optuna study in one file that survives a kill and refuses other data."""

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import optuna
from optuna.storages import JournalStorage
from optuna.storages.journal import JournalFileBackend, JournalFileOpenLock
from optuna.trial import TrialState

from scoring_model.locks import locked

_STUDY = "tuning"
_HEAD = b'{"op_code":'  # start of every line that Optuna writes
_FINGERPRINT = "fingerprint"


class JournalError(ValueError):
    """A journal cannot be used; the message gives the reason."""


class _HeldLock(JournalFileOpenLock):
    """A lock that does nothing, since the whole journal is locked.

    Optuna's own locks are files that remain after a kill, so the next run would wait half a minute.
    """

    def acquire(self) -> bool:
        """Succeed: `open_study` holds the lock."""
        return True

    def release(self) -> None:
        """Do nothing: `open_study` releases the lock."""


@contextmanager
def open_study(
    path: Path, *, fingerprint: Mapping[str, str], resume: bool, pruner: optuna.pruners.BasePruner
) -> Iterator[optuna.Study]:
    """Open the study of a journal exclusively, ready for its next trial.

    Marks an unfinished trial of a killed run as failed, and cuts off an incomplete last line of the file.

    Parameters
    ----------
    fingerprint : Mapping[str, str]
        Digests, by name, of the inputs that determine the results.

    Raises
    ------
    JournalError
        If the journal exists and is not resumed, is in use, is not a journal of a search, or has another fingerprint;
        the message then names the differences.
    """
    if not resume and path.exists():
        raise JournalError(f"the journal {path.name} exists; pass --resume (resume=True) to continue it")
    path.parent.mkdir(parents=True, exist_ok=True)
    with locked(
        path, create=True, busy=JournalError(f"the journal {path.name} is in use by another process")
    ):
        _cut_torn_tail(path)
        study = _load(path, pruner)
        _match(study, fingerprint, path.name)
        for trial in study.get_trials(deepcopy=False, states=(TrialState.RUNNING,)):
            study.tell(trial.number, state=TrialState.FAIL)
        yield study


def _cut_torn_tail(path: Path) -> None:
    """Cut off an incomplete last line of a journal, but never of another file."""
    content = path.read_bytes()
    if not content.startswith(_HEAD[: len(content)]):
        raise JournalError(f"{path.name} is not the journal of a tuning")
    whole = content.rfind(b"\n") + 1
    if whole < len(content):
        os.truncate(path, whole)


def _load(path: Path, pruner: optuna.pruners.BasePruner) -> optuna.Study:
    try:
        storage = JournalStorage(JournalFileBackend(str(path), lock_obj=_HeldLock(str(path))))
        return optuna.create_study(
            study_name=_STUDY, storage=storage, pruner=pruner, direction="maximize", load_if_exists=True
        )
    except (ValueError, KeyError, TypeError) as error:
        raise JournalError(f"{path.name} is not the journal of a tuning") from error


def _match(study: optuna.Study, fingerprint: Mapping[str, str], name: str) -> None:
    """Mark a new study with the fingerprint; refuse a study with another one."""
    stored = study.user_attrs.get(_FINGERPRINT)
    if stored is None and not study.get_trials(deepcopy=False):
        study.set_user_attr(_FINGERPRINT, dict(fingerprint))
    elif stored != fingerprint:
        known = stored or {}
        differing = [part for part in {**fingerprint, **known} if known.get(part) != fingerprint.get(part)]
        raise JournalError(f"the journal {name} belongs to other {', '.join(differing)}")
