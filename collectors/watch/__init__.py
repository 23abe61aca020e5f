"""A live cluster: its API server is asked what stands and what changes, and tells entries and marks.

No Django here, so that `causeline record` runs where there is no server and no database.
"""
