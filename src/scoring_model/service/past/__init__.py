"""Past verifications: read again, decided again, exported and inspected, and records of the time before."""
