"""This package holds what rules share about Leases and their holders."""
