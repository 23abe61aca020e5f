"""Serve pages and the HTTP API: views, forms, request bodies, streamed downloads and the links of alerts.

`python -m dashboard.web` serves them. Decisions about access belong in `dashboard.access`.
"""
