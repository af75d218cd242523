"""Clients and their API keys."""
