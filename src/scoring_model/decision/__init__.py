"""From a margin to a score, an outcome, a probability and reasons, with numpy only."""
