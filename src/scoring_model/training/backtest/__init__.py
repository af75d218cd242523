"""Backtests: how models that are trained again and again would have fared on past records."""

from scoring_model.training.backtest.backtest import Backtest
from scoring_model.training.backtest.calendar import BacktestError
from scoring_model.training.backtest.run import backtest

__all__ = ["Backtest", "BacktestError", "backtest"]
