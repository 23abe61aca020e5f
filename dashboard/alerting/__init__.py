"""Send incidents on: routes decide which incidents are sent to whom, and destinations send them.

`routing.py` decides without a database. Deliveries are rows first and are sent afterwards, so nothing is lost when a
process dies. Pages are in `dashboard.web`; which hosts may be reached is decided in `dashboard.access.outgoing`.
"""
