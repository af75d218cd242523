"""The bundles that are served with a database: their directory, and which of them is active."""
