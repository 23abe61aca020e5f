"""This package words clusters, recordings, and what they take."""
