"""Read sources as a whole: clusters, recordings, uploads, and what was observed."""
