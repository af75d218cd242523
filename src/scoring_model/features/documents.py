"""Features of the document and of the citizenship."""

from scoring_model.features.catalogue import MISSING, Family, Feature, ReasonTopic, group_of
from scoring_model.features.state import ShareTable, Vocabulary
from scoring_model.records import DOCUMENT_TYPES

VERSION = 2

_DOCUMENT_CODES = {document: float(code) for code, document in enumerate(DOCUMENT_TYPES)}


def document(document_type: str | None) -> tuple[float, ...]:
    """Code of the type of document."""
    return (MISSING if document_type is None else _DOCUMENT_CODES[document_type],)


def abroad(citizenship: str | None, country: str | None) -> tuple[float, ...]:
    """Return whether a person lives outside of the country of citizenship."""
    return (MISSING if citizenship is None or country is None else float(citizenship != country),)


def contradiction(
    document_type: str | None, citizenship: str | None, country: str | None
) -> tuple[float, ...]:
    """Return whether citizens of the country of the address cannot hold this document."""
    if document_type is None or citizenship is None or country is None:
        return (MISSING,)
    return (float(document_type == "RESIDENCE_PERMIT" and citizenship == country),)


def family(citizenships: Vocabulary, documents: ShareTable) -> Family:
    """Return the features of documents; `documents` holds the share of each type by country."""

    def citizenship(value: str | None) -> tuple[float, ...]:
        return (citizenships.code(value),)

    def rarity(document_type: str | None, country: str | None) -> tuple[float, ...]:
        if document_type is None or country is None:
            return (MISSING,)
        return (documents.rarity(country, document_type),)

    return Family(
        name="documents",
        version=VERSION,
        reasons=_REASONS,
        groups=(
            group_of(document, _DOCUMENT),
            group_of(rarity, _RARITY),
            group_of(citizenship, _CITIZENSHIP),
            group_of(abroad, _ABROAD),
            group_of(contradiction, _CONTRADICTION),
        ),
    )


_DOCUMENT = Feature(
    name="document_type",
    inputs=("documentType",),
    unit="code",
    reason="DOCUMENT_TYPE",
    sentence="Type of the document.",
    categorical=True,
    words=DOCUMENT_TYPES,
)
_RARITY = Feature(
    name="document_rarity",
    inputs=("documentType", "address.country"),
    unit="bits",
    reason="DOCUMENT_TYPE",
    sentence="How rare the type of the document is in the country of the address.",
    fitted=True,
)
_CITIZENSHIP = Feature(
    name="citizenship",
    inputs=("citizenship",),
    unit="code",
    reason="CITIZENSHIP",
    sentence="Citizenship.",
    categorical=True,
    learnt=True,
    protected="citizenship",
)
_ABROAD = Feature(
    name="citizenship_abroad",
    inputs=("citizenship", "address.country"),
    unit="0 or 1",
    reason="COUNTRIES",
    sentence="Whether the address lies outside the country of citizenship.",
    protected="citizenship",
)
_CONTRADICTION = Feature(
    name="document_contradiction",
    inputs=("documentType", "citizenship", "address.country"),
    unit="0 or 1",
    reason="DOCUMENT_TYPE",
    sentence="Whether a citizen shows a residence permit of the own country.",
    protected="citizenship",
)

_REASONS = (
    ReasonTopic(
        code="DOCUMENT_TYPE",
        sentence="The type of document counted against the {event}.",
        about="the type of document",
        present=("document_type",),
        absence=("NO_DOCUMENT_TYPE", "No type of document was given."),
    ),
    ReasonTopic(
        code="CITIZENSHIP",
        sentence="The citizenship counted against the {event}.",
        about="the citizenship",
        present=("citizenship",),
        absence=("NO_CITIZENSHIP", "No citizenship was given."),
    ),
    ReasonTopic(
        code="COUNTRIES",
        sentence="That citizenship and country of the address agree counted against the {event}.",
        about="citizenship and country of the address",
        present=("citizenship_abroad",),
        absence=("NO_COUNTRIES", "No citizenship was given together with a country of the address."),
        detail=(
            "COUNTRY_MISMATCH",
            "Citizenship and country of the address differ.",
            ("citizenship_abroad",),
        ),
    ),
)
