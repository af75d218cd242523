"""What every change by a request needs: an idempotency key, the commit queue and lists."""
