"""What `/metrics` tells Prometheus: figures of all processes, and how sources, clusters and queues are.

Each process writes what it measured to PostgreSQL; whichever web process is asked adds the figures up, so that one
scrape tells everything. docs/metrics.md lists every metric.
"""
