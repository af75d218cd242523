"""The service: identities, verifications and webhooks over a bundle, kept in a database."""
