"""Delete what is too old or too large, and keep what must be kept."""
