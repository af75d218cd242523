import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import optuna
import pytest
from optuna.trial import TrialState

from scoring_model.training.journal import JournalError, open_study

PRUNER = optuna.pruners.NopPruner()
MARK = {"rows": "1", "targets": "2"}


@pytest.fixture(autouse=True)
def _quiet() -> None:
    optuna.logging.set_verbosity(optuna.logging.WARNING)


def assert_refused(
    path: Path, text: str, *, resume: bool = True, fingerprint: Mapping[str, str] = MARK
) -> None:
    """Check that a journal is refused with this error text."""
    with (
        pytest.raises(JournalError, match=text),
        open_study(path, fingerprint=fingerprint, resume=resume, pruner=PRUNER),
    ):
        pass


def test_a_journal_keeps_its_trials(tmp_path: Path) -> None:
    """A reopened journal has its trials and their values."""
    path = tmp_path / "new" / "journal.log"
    with open_study(path, fingerprint=MARK, resume=False, pruner=PRUNER) as study:
        trial = study.ask()
        x = trial.suggest_float("x", 0, 1)
        study.tell(trial, 0.1 + 0.2)
    with open_study(path, fingerprint=MARK, resume=True, pruner=PRUNER) as study:
        assert [(t.value, t.params) for t in study.trials] == [(0.1 + 0.2, {"x": x})]


def test_an_existing_journal_needs_resume(tmp_path: Path) -> None:
    """Without resume an existing file is refused and unchanged; with resume a missing one is created."""
    path = tmp_path / "journal.log"
    with open_study(path, fingerprint=MARK, resume=True, pruner=PRUNER):
        pass
    before = path.read_bytes()
    assert_refused(path, r"journal\.log exists; pass --resume", resume=False)
    assert path.read_bytes() == before


def test_a_journal_of_something_else_is_refused_by_name(tmp_path: Path) -> None:
    """The error names exactly the parts that differ."""
    path = tmp_path / "journal.log"
    with open_study(path, fingerprint=MARK, resume=False, pruner=PRUNER):
        pass
    other = {"rows": "1", "targets": "3", "seed": "1"}
    assert_refused(path, r"belongs to other targets, seed$", fingerprint=other)


@pytest.mark.parametrize("content", [b"PAR1", b"hello\n", b'{"op_code":0}\n', b"[]\n", b'{"op_code":\xff\n'])
def test_a_file_that_is_no_journal_is_refused(tmp_path: Path, content: bytes) -> None:
    """A file of another kind is refused as such and unchanged."""
    path = tmp_path / "journal.log"
    path.write_bytes(content)
    assert_refused(path, "not the journal of a tuning")
    assert path.read_bytes() == content


def test_a_torn_last_line_is_cut_at_any_byte(tmp_path: Path) -> None:
    """A journal cut at any byte of its last writes opens, keeps the complete trials and continues."""
    path = tmp_path / "journal.log"
    with open_study(path, fingerprint=MARK, resume=False, pruner=PRUNER) as study:
        study.tell(study.ask(), 0.5)
        begun = path.stat().st_size
        study.tell(study.ask(), 0.6)
    whole = path.read_bytes()
    for size in range(begun, len(whole), 7):
        path.write_bytes(whole[:size])
        with open_study(path, fingerprint=MARK, resume=True, pruner=PRUNER) as study:
            assert study.trials[0].value == 0.5
            assert not study.get_trials(states=(TrialState.RUNNING,))
            study.tell(study.ask(), 0.7)
        with open_study(path, fingerprint=MARK, resume=True, pruner=PRUNER) as study:
            assert [t.value for t in study.get_trials(states=(TrialState.COMPLETE,))][-1] == 0.7


def test_a_journal_in_use_is_refused(tmp_path: Path) -> None:
    """A second process can write a journal only after the first one has closed it."""
    path = tmp_path / "journal.log"
    lock = f"import fcntl; fcntl.flock(open({str(path)!r}, 'ab'), fcntl.LOCK_EX | fcntl.LOCK_NB)"
    with open_study(path, fingerprint=MARK, resume=False, pruner=PRUNER):
        assert (
            subprocess.run([sys.executable, "-c", lock], stderr=subprocess.PIPE, check=False).returncode == 1
        )
        assert_refused(path, "in use")
    subprocess.run([sys.executable, "-c", lock], check=True)
