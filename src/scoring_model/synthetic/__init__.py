"""Synthetic histories: labelled records of invented people and fraud rings.

Record, person, device and subject ids begin with `syn-`, images lie under `https://images.example/`, mail
domains are reserved ones (RFC 2606), and the tables say so in their metadata.
"""

from scoring_model.synthetic.files import write
from scoring_model.synthetic.history import generate
from scoring_model.synthetic.rows import NOTICE, schema

__all__ = ["NOTICE", "generate", "schema", "write"]
