"""This package holds what rules share about Jobs and their Pods."""
