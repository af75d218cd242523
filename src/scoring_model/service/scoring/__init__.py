"""Verifications: admitted, queued, scored in transactions, finished later, replayed."""
