"""The shapes in which data leaves Causeline: typed dictionaries and the JSON Schema of the findings document.

Everything here is pure. The field names are a public interface: programs of other people read them.
"""
