"""A small use for backtests."""

from identity_use import checked, relaxed

UNCHECKED = (
    relaxed().replace(
        "{label_maturity: 30d, gap: 30d, train: 0.6, validation: 0.2, min_frauds: 3}",
        "{label_maturity: 14d, gap: 14d, burn_in: 30d, train: 0.6, validation: 0.2, test: 0, min_frauds: 3}",
    )
    + "  costs: {fraud_loss: 500, step_up_cost: 2, step_up_effectiveness: 0.8, reject_cost: 20}\n"
)
"""With costs, without a test part, with young labels: half a year of folds in 5,000 records."""

USE = checked(UNCHECKED)
"""The same with leakage checks, which take longer than such a training."""
