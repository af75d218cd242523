"""What the service does, without a word of HTTP or SQL."""
