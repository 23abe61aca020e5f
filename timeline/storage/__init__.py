"""Write to PostgreSQL: sources, entries, leases of workers, retention, exports and notifications.

Writes belong here. What a screen reads belongs into `timeline.queries`; the tables are in `timeline.models`.
"""
