"""Kinds that decide about requests: webhook configurations."""
