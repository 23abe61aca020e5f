"""This package watches live clusters: it lists and watches resources, and delivers entries and marks.

The modules that `causeline record` needs do not import Django, so that it runs without a server and a database.
"""
