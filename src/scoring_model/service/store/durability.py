"""Whether a database keeps what it has acknowledged when the machine fails."""


class NotDurable(Exception):
    """A database is set up so that acknowledged transactions can be lost. Serving on it is refused."""
