"""The parts of a report: each module turns a part of an evaluation into figures, tables and sentences."""
