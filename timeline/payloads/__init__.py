"""This package declares the data that leaves Causeline: typed dictionaries, and the JSON Schema of findings documents.

Everything here is pure. The field names are a public interface: programs of other people read them.
"""
