"""Write a recording, or a view of it, as one HTML file that needs no server and no network."""
