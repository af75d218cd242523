"""The parts of a report: each module says what a part of a result is, in texts, grids and drawings."""
