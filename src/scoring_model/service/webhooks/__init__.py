"""Webhooks, events and what becomes of their deliveries."""
