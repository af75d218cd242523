"""Resolutions that operators import from a file."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final, NamedTuple

from scoring_model.contract.resolution import ResolutionInput
from scoring_model.contract.resource import PresentContext
from scoring_model.contract.rules import Rule, RuleError
from scoring_model.contract.violation import Invalid, Violation
from scoring_model.records import cells
from scoring_model.service.core.clock import Clock
from scoring_model.service.core.errors import RequestError
from scoring_model.service.core.row_files import MOST_LISTED, Cells, RowFile, batches, identifier, values_of
from scoring_model.service.identities.persons import Persons
from scoring_model.service.resolutions.requests import append
from scoring_model.service.store import Store

ROWS: Final = 100
"""Resolutions in one transaction of a history scope."""

_SENT: Final = ("result", "method", "resolvedBy", "note", "resolvedAt")


class ResolutionLine(NamedTuple):
    """One row of a file."""

    verification_id: bytes
    given: ResolutionInput


@dataclass(frozen=True, slots=True)
class Imported:
    """The result of an import.

    Parameters
    ----------
    imported, repeated : int
        New resolutions, and those that equal the latest of their verification.
    refused : mapping of bytes to str
        Why nothing was stored, by verification, of the first `MOST_LISTED`: it is unknown, not completed or erased, or
        it has too many.
    omitted : int
        Rows of further ones.
    """

    imported: int
    repeated: int
    refused: Mapping[bytes, str]
    omitted: int = 0


def resolution_file(at: int) -> RowFile[ResolutionLine]:
    """Return the form of a file of resolutions, of which none may end after an instant, microseconds."""
    needed = (("verificationId",), ("result",), ("method",))
    return RowFile(noun="resolutions", needed=needed, parse=partial(_line, at=at))


def check_resolutions(path: Path, *, at: int) -> None:
    """Check a file to its end; errors are those of `RowFile.check`."""
    for _ in resolution_file(at).check(path):
        pass


def _line(row: Cells, at: int) -> ResolutionLine | list[Violation]:
    values, violations = values_of(row, {"verificationId": _needed})
    sent = {name: cells.plain(row.get(name)) for name in _SENT}
    try:
        given = ResolutionInput.parse(
            {name: value for name, value in sent.items() if value is not None}, PresentContext(at)
        )
    except Invalid as error:
        return [*violations, *error.violations]
    about = values.get("verificationId")
    return ResolutionLine(about, given) if isinstance(about, bytes) and not violations else violations


def _needed(value: object) -> bytes:
    found = identifier(value)
    if found is None:
        raise RuleError(Rule.MISSING, "must be there")
    return found


async def import_resolutions(
    store: Store, persons: Persons, lines: Iterable[ResolutionLine], clock: Clock
) -> Imported:
    """Store resolutions of verifications of any client, each as a request would; importing again changes nothing."""
    async with store.reading() as reader:
        scopes = {client.client: client.pool for client in await reader.clients()}
    counts = [0, 0]
    refused: dict[bytes, str] = {}
    omitted = 0
    for page in batches(lines, ROWS):
        async with store.reading() as reader:
            found = await reader.verifications_by_ids([one.verification_id for one in page])
        owners = {row.id: row.client for row in found}
        for about, given in page:
            why = "unknown"
            if about in owners:
                try:
                    async with store.writing([scopes[owners[about]]]) as transaction:
                        done = await append(
                            transaction, persons, given, client=owners[about], about=about, now=clock.now()
                        )
                    counts[not done.value.is_new] += 1
                    continue
                except RequestError as error:
                    why = error.code
            if about in refused or len(refused) < MOST_LISTED:
                refused[about] = why
            else:
                omitted += 1
    return Imported(counts[0], counts[1], refused, omitted)
