"""Make the texts that pages, reports and the terminal share, and rows that are ready to be shown.

Nothing here reads a request or writes to the database.
"""
