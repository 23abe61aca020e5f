"""Watch live clusters: list and watch resources, and deliver entries and marks.

The modules that `causeline record` needs do not import Django, so that it runs without a server and a database.
"""
