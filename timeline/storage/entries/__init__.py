"""This package stores entries in chunks, and the tables that hold them."""
