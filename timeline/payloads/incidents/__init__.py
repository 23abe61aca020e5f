"""This package makes incidents of findings."""
