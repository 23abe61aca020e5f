"""Kinds that say which other kinds the API serves, and where objects may be."""
