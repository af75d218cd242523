"""Batch jobs: files in, scored files out."""

from scoring_model.batch.files import FORMATS, write_table
from scoring_model.batch.scoring import ScoredFile, score_file

__all__ = ["FORMATS", "ScoredFile", "score_file", "write_table"]
