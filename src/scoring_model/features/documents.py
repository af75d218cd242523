"""Features of the document and of the citizenship."""

from scoring_model.features.catalogue import MISSING, Family, Feature, Group
from scoring_model.features.vocabulary import Vocabulary
from scoring_model.records import DOCUMENT_TYPES

VERSION = 1

_DOCUMENT_CODES = {document: float(code) for code, document in enumerate(DOCUMENT_TYPES)}


def document(document_type: str | None) -> tuple[float, ...]:
    """Code of the type of document."""
    return (MISSING if document_type is None else _DOCUMENT_CODES[document_type],)


def abroad(citizenship: str | None, country: str | None) -> tuple[float, ...]:
    """Whether a person lives in another country than that of the citizenship."""
    return (MISSING if citizenship is None or country is None else float(citizenship != country),)


def family(citizenships: Vocabulary) -> Family:
    """The features of documents; `citizenships` codes the citizenship."""

    def citizenship(value: str | None) -> tuple[float, ...]:
        return (citizenships.code(value),)

    return Family(
        name="documents",
        version=VERSION,
        groups=(
            Group(inputs=("documentType",), features=(_DOCUMENT,), function=document),
            Group(inputs=("citizenship",), features=(_CITIZENSHIP,), function=citizenship),
            Group(inputs=("citizenship", "address.country"), features=(_ABROAD,), function=abroad),
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
    reason="COUNTRY_MISMATCH",
    sentence="Whether the address lies outside the country of citizenship.",
    protected="citizenship",
)
