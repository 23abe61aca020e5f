"""This package decides who may do what: it checks tokens, accounts and origins, slows down guessing, and logs changes.

Every request and every WebSocket passes through here before a view sees it.
"""
