"""This package holds what rules share about the endpoints of Services."""
