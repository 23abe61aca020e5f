"""Read objects: their lives, their changes, what they own, and which copies of them were used."""
