"""Features of signals that are phone numbers: validity, kind and country."""

from functools import partial

from scoring_model.features.catalogue import MISSING, Group, read_group
from scoring_model.features.settings import SignalSettings
from scoring_model.features.spelling import longest_run
from scoring_model.features.state import FittedState
from scoring_model.records.phone import KINDS, read_phone

VERSION = 1

_KIND_CODES = {kind: float(code) for code, kind in enumerate(KINDS)}


def groups(signal: str, settings: SignalSettings, state: FittedState) -> tuple[Group, ...]:
    """Return the groups of one signal."""
    home, countries = settings.country, state.vocabulary(f"signals.{signal}:country")

    def number(phone: str | None) -> tuple[float, ...]:
        if phone is None:
            return (MISSING,) * len(_NUMBER)
        found = read_phone(phone, home)
        if found is None:
            return (1.0, 1.0, *(MISSING,) * (len(_NUMBER) - 2))
        return (
            0.0,
            found.kind is None,
            MISSING if found.kind is None else _KIND_CODES[found.kind],
            countries.code(found.country),
            longest_run(found.e164),
        )

    def differs(phone: str | None, country: str | None) -> tuple[float, ...]:
        found = None if phone is None else read_phone(phone, home)
        return (MISSING if found is None or country is None else found.country != country,)

    of = partial(read_group, "phone", signal, protected=settings.protected)
    return (
        of(_NUMBER, number),
        of(_COUNTRY, differs, aspect="COUNTRY", others=("address.country",)),
    )


_KINDS = ", ".join(f"{code} {kind.replace('_', ' ')}" for code, kind in enumerate(KINDS))
_NUMBER = (
    ("unreadable", "0 or 1", "Whether the {} cannot be read as a phone number."),
    ("invalid", "0 or 1", "Whether the {} is no number of any numbering plan."),
    ("kind", "code", f"Kind of the {{}}: {_KINDS}."),
    ("country", "code", "Country of the {}."),
    ("longest_run", "digits", "Longest repetition of one digit in the {}."),
)
_COUNTRY = (("country_differs", "0 or 1", "Whether the countries of the {} and of the address differ."),)
