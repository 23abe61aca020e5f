"""What rules share about the endpoints of Services."""
