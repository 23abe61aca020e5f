"""What rules share about Jobs and their Pods."""
