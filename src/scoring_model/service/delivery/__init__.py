"""Delivery of webhooks: the outbox that waits is sent, signed, again and again until it arrives or is dead."""
