"""Training: from labelled records to a sealed bundle."""
