"""What rules share about Leases and their holders."""
