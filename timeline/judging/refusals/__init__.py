"""What rules share that judge refused requests."""
