"""Retention: what is deleted at which age, and how."""
