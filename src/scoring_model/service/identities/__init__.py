"""Identities, the persons behind them, their labels and the export of what is known of one."""
