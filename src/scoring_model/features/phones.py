"""Features of signals that are phone numbers: validity, kind and country."""

from functools import partial

from scoring_model.features.catalogue import MISSING, Group, ReasonTopic, read_features
from scoring_model.features.signal_settings import SignalSettings
from scoring_model.features.spelling import longest_run
from scoring_model.features.state import FittedState
from scoring_model.records.phone import KINDS, calling_code, read_phone

VERSION = 1

_KIND_CODES = {kind: float(code) for code, kind in enumerate(KINDS)}


def groups(signal: str, settings: SignalSettings, state: FittedState) -> tuple[Group, ...]:
    """Return the group of one signal."""
    field, country_field = f"signals.{signal}", "address.country"
    home, countries = settings.country, state.vocabulary(f"{field}:country")
    words = {"country": countries.values, "kind": _KIND_WORDS}
    features = partial(read_features, "phone", signal, protected=settings.protected, words=words)

    def number(phone: str | None, country: str | None) -> tuple[float, ...]:
        found = None if phone is None else read_phone(phone, home)
        there = None if country is None else calling_code(country)
        if found is None:
            sign = MISSING if phone is None else 1.0
            return (sign, sign, MISSING, MISSING, MISSING, MISSING)
        return (
            0.0,
            found.kind is None,
            MISSING if found.kind is None else _KIND_CODES[found.kind],
            countries.code(found.country),
            longest_run(found.e164),
            MISSING if there is None else found.code != there,
        )

    # In one group, although only the last feature reads the address: a number takes longer to read than to compare.
    return (
        Group(
            inputs=(field, country_field),
            features=(*features(_NUMBER), *features(_COUNTRY, aspect="COUNTRY", others=(country_field,))),
            function=number,
        ),
    )


_KIND_WORDS = tuple(kind.replace("_", " ") for kind in KINDS)
_KINDS = ", ".join(f"{code} {kind}" for code, kind in enumerate(_KIND_WORDS))
_NUMBER = (
    ("unreadable", "0 or 1", "Whether the {} cannot be read as a phone number."),
    ("invalid", "0 or 1", "Whether the {} is no number of any numbering plan."),
    ("kind", "code", f"Kind of the {{}}: {_KINDS}."),
    ("country", "code", "Country of the {}."),
    ("longest_run", "digits", "Longest repetition of one digit in the {}."),
)
_COUNTRY = (
    ("code_differs", "0 or 1", "Whether the {} lacks the calling code of the country of the address."),
)

REASONS = (
    ReasonTopic(
        code="",
        sentence="The {title} counted against the {event}.",
        about="the {title}",
        present=("invalid",),
        absence=("", "No {title} was given."),
        detail=("INVALID", "The {title} is not a valid phone number.", ("invalid",)),
    ),
    ReasonTopic(
        code="COUNTRY",
        sentence="That the {title} has the calling code of the country of the address counted against the {event}.",
        about="the calling code of the {title} and the country of the address",
        present=("code_differs",),
        absence=(
            "",
            "No {title} was given whose calling code could be compared with that of the country of the address.",
        ),
        detail=(
            "COUNTRY_MISMATCH",
            "The {title} does not have the calling code of the country of the address.",
            ("code_differs",),
        ),
    ),
)
