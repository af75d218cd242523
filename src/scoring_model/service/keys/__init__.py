"""Keys: the keyring, data keys of persons, hashes of link keys, masks over amounts."""
