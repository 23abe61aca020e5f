"""Collect what `/metrics` shows: figures of all processes, and of sources, clusters and queues.

Each process writes what it measured to PostgreSQL; whichever web process is asked adds the figures up, so that one
scrape tells everything. docs/metrics.md lists every metric.
"""
