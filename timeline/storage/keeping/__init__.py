"""This package deletes what is too old or too large, and keeps what must be kept."""
