"""The program in this process, for tests of commands."""

import pytest

from scoring_model.cli import main

Captured = pytest.CaptureFixture[str]


def run(capsys: Captured, *arguments: object) -> tuple[int, str, str]:
    """Run the program: exit code, standard output, standard error."""
    capsys.readouterr()
    code = main([str(argument) for argument in arguments])
    said = capsys.readouterr()
    return code, said.out, said.err


def refused(capsys: Captured, *arguments: object) -> str:
    """Run a command that must fail on its input: exit code 1, one error, no traceback; return the error."""
    code, _, error = run(capsys, *arguments)
    assert (code, "Traceback" in error, error.count("error: ")) == (1, False, 1)
    return error[error.index("error: ") :]
