"""This package reads the lines of the logs of programs."""
