"""Gather: recordings and clusters become entries."""
