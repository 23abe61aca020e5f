"""Write the texts about clusters and recordings, and about the disk space that they take."""
