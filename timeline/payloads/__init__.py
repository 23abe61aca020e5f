"""Declare the data that the API, the reports and the commands give out, and fill some of it.

It has typed dictionaries and the JSON Schema of findings documents. Everything here is pure. The field names are a
public interface that programs of other people read.
"""
