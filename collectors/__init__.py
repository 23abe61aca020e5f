"""This package gathers: recordings and clusters become entries."""
