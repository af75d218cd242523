"""The command line: one file per group of commands."""

from scoring_model.cli.app import main

__all__ = ["main"]
