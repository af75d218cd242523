"""Webhook delivery: events of the outbox are signed and sent, with retries until they succeed or are given up."""
