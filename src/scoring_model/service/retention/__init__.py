"""How long rows and signals are kept."""
