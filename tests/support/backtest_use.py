"""A small use for backtests."""

from identity_use import relaxed

USE = relaxed().replace(
    "{label_maturity: 30d, min_frauds: 3}",
    "{label_maturity: 14d, burn_in: 30d, test: 0, min_frauds: 3}\n  leakage_checks: {max_records: 1000}",
)
"""Without a test part, with young labels, and small leakage checks: half a year of folds in 5,000 records."""
