"""Identities: what is stored of a person, and the operations on it."""
