"""Delivery of webhooks: events of the outbox are signed and sent, with retries until they arrive or are given up."""
