"""Word clusters, recordings, and how much room they take."""
