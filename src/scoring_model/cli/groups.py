"""Groups of commands by what people do with them. The module of a command names its group, and `app` finds both."""

from collections.abc import Callable
from enum import StrEnum
from typing import Any, Final, TypeVar

C = TypeVar("C")


class Group(StrEnum):
    """The groups, in the order of `--help` and of docs/commands.md."""

    DATA = "Data"
    MODELS = "Models"
    DECISIONS = "Decisions"
    SERVICE = "Service"
    OPERATIONS = "Operations"


MEMBERS: Final[dict[Group, list[Any]]] = {group: [] for group in Group}
"""Commands, and programs of several commands, by group."""


def in_group(group: Group) -> Callable[[C], C]:
    """Add a command to a group of the program."""

    def add(command: C) -> C:
        MEMBERS[group].append(command)
        return command

    return add
