"""Decide who may do what, and note what was done.

Every request and every WebSocket passes through the modules here before a view sees it; they ask those in the rooms.
Each room imports only those after it: `tokens`, `signing_in`, `trail`, `roles`.
"""
