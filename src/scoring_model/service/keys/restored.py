"""Whether the keys of persons were restored to a copy of a database, in part, or never.

A person without a key was erased, unless the key was never restored: a database says which of the two.

Decision record: docs/adr/0030-erasure.md.
"""

from typing import Final

from scoring_model.service.core.ids import first_of
from scoring_model.service.store import Reader

RESTORED_FACT: Final = "person_keys_as_of"
"""Name of the fact that a restoration of person keys sets: the instant at which they were backed up, in decimal digits,
microseconds since 1970-01-01 UTC. Empty while the restoration is under way, and 0 if the keys are lost."""


class KeysMissing(ValueError):
    """The database is a copy to which its person keys were not restored, or not all of them."""

    def __init__(self) -> None:
        super().__init__(
            "the database is a copy without its person keys: restore them with `scoring-model database restore-keys`"
        )


def erasing_fact(key_id: bytes) -> str:
    """Return the name of the fact that says how far the erasure of a person is."""
    return f"erasing.{key_id.hex()}"


async def require_keys(reader: Reader) -> None:
    """Raise `KeysMissing` if the keys of persons were not restored to this copy, or not all of them."""
    restored = await reader.fact(RESTORED_FACT)
    if restored == b"" or (restored is None and await reader.lacks_keys()):
        raise KeysMissing


async def was_erased(reader: Reader, key_id: bytes) -> bool:
    """Return True if a person whose key is gone was erased; False if the key was never restored.

    Raises
    ------
    KeysMissing
        If no keys were restored.
    """
    if await reader.fact(erasing_fact(key_id)) is not None:
        return True
    await require_keys(reader)
    as_of = await reader.fact(RESTORED_FACT)
    return as_of is None or key_id < first_of(int(as_of))
