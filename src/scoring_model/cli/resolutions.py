"""Commands on resolutions."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import typer

from scoring_model.cli import console, shared
from scoring_model.cli.database import masters_of, with_store
from scoring_model.cli.groups import Group, in_group

if TYPE_CHECKING:
    from scoring_model.service.core.clock import Clock
    from scoring_model.service.keys.keyring import Keyring
    from scoring_model.service.resolutions.imports import Imported
    from scoring_model.service.store import Store

app = in_group(Group.DATA)(
    typer.Typer(name="resolutions", help="How step-ups and reviews ended.", no_args_is_help=True)
)


@app.command("import")
def import_file(
    path: shared.ImportedFile,
    database: shared.Database,
    master_key: shared.MasterKey = None,
    as_json: shared.Json = False,
) -> None:
    """Import how step-ups and reviews ended. Importing again changes nothing; what is refused is listed.

    Columns: verificationId; result (APPROVED, DECLINED or ABANDONED); method (documentCheck, liveness, manualReview,
    oneTimeCode or other); perhaps resolvedBy, note and resolvedAt. If any row breaks a rule, nothing is imported and
    the first such rows are listed. See docs/service-records.md#resolutions.
    """
    from scoring_model.contract.texts import to_text
    from scoring_model.service.core.clock import SystemClock
    from scoring_model.service.resolutions.imports import check_resolutions

    clock = SystemClock()
    at = clock.now()
    check_resolutions(path, at=at)
    keyring = masters_of(database, master_key)
    found = with_store(database, lambda store: _import(store, path, clock, keyring, at))
    refused = {to_text(about): why for about, why in found.refused.items()}
    if as_json:
        counts = {"imported": found.imported, "repeated": found.repeated}
        console.say_json({**counts, "refused": refused, "omitted": found.omitted})
        return
    console.say(f"{found.imported:,} resolutions imported, {found.repeated:,} were known already")
    for about, why in refused.items():
        console.say(f"refused: {about}  {why}")
    if found.omitted:
        console.say(f"and {found.omitted:,} more rows like these")


async def _import(store: Store, path: Path, clock: Clock, keyring: Keyring, at: int) -> Imported:
    from scoring_model.service.identities.persons import Persons
    from scoring_model.service.keys.data_keys import Vault
    from scoring_model.service.resolutions.imports import import_resolutions, resolution_file

    lines = resolution_file(at).read(path)
    return await import_resolutions(store, Persons(Vault(keyring)), lines, clock)
