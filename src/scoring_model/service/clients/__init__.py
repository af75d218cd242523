"""The clients of the service: their keys, limits and unknown signals."""
