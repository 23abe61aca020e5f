"""Read the lines of the logs of programs."""
