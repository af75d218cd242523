"""Features of the document and of the citizenship."""

from scoring_model.features.catalogue import MISSING, Family, Feature, Group
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
        groups=(
            Group(inputs=_DOCUMENT.inputs, features=(_DOCUMENT,), function=document),
            Group(inputs=_RARITY.inputs, features=(_RARITY,), function=rarity),
            Group(inputs=_CITIZENSHIP.inputs, features=(_CITIZENSHIP,), function=citizenship),
            Group(inputs=_ABROAD.inputs, features=(_ABROAD,), function=abroad),
            Group(inputs=_CONTRADICTION.inputs, features=(_CONTRADICTION,), function=contradiction),
        ),
    )


_DOCUMENT = Feature(
    name="document_type",
    inputs=("documentType",),
    unit="code",
    reason="DOCUMENT_TYPE",
    sentence="Type of the document.",
    categorical=True,
)
_RARITY = Feature(
    name="document_rarity",
    inputs=("documentType", "address.country"),
    unit="bits",
    reason="DOCUMENT_TYPE",
    sentence="How rare the type of the document is in the country of the address.",
)
_CITIZENSHIP = Feature(
    name="citizenship",
    inputs=("citizenship",),
    unit="code",
    reason="CITIZENSHIP",
    sentence="Citizenship.",
    categorical=True,
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
