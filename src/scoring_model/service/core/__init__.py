"""Core of the service, independent of HTTP and SQL."""
