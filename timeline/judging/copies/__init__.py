"""What rules share about old copies of objects on which actors acted."""
