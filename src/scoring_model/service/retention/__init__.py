"""What is kept for how long, and how it is deleted."""
