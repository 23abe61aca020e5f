"""This package sends incidents on: routes decide who is told of what, and destinations send it.

`routing.py` decides without a database. Deliveries are rows first and are sent afterwards, so nothing is lost when a
process dies. Pages are in `dashboard.web`; which hosts may be reached is decided in `dashboard.access.outgoing`.
"""
