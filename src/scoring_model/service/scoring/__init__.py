"""Verifications: admission, queue, scoring in transactions, pending work and replay."""
