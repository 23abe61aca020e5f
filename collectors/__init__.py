"""Read recordings, watch clusters, and turn what is read into entries."""
