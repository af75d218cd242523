"""Resolutions of verifications: reported by clients, imported by operators, or by a verification that follows."""
