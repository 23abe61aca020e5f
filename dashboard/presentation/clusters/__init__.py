"""Write the texts about clusters and recordings, and about the room that they take."""
