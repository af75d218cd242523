"""A fingerprint of the features: their versions, and what they give on invented records.

A comment may change and the fingerprint stays; a value may not.
"""

import hashlib
import json

from scoring_model.features import links
from scoring_model.features.invented import invented_table, record_at
from scoring_model.features.matrix import FeatureMatrix
from scoring_model.history import past_counts
from scoring_model.records import NORMALISATION_VERSION


def feature_versions(matrix: FeatureMatrix) -> dict[str, int]:
    """Versions of the families of a use, of links and of normalisation, by name."""
    versions = {family.name: family.version for family in matrix.families}
    return {**versions, "links": links.VERSION, "normalisation": NORMALISATION_VERSION}


def fingerprint(matrix: FeatureMatrix) -> str:
    """Fingerprint of the features of one use.

    Returns
    -------
    str
        SHA-256 in hexadecimal of the versions of the families, of links and of normalisation, of the names in
        order, and of the bits of the rows of the committed invented records.
    """
    digest = hashlib.sha256(json.dumps([sorted(feature_versions(matrix).items()), matrix.names]).encode())
    table, links_of = invented_table(matrix.settings, matrix.state), matrix.settings.links
    for row in range(len(table)):
        history = past_counts(table, row, links_of.link_keys, links_of.spec)
        digest.update(matrix.row(record_at(table, row), history).astype("<f8").tobytes())
    return digest.hexdigest()
