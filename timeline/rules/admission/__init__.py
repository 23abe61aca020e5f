"""Rules about requests that are refused because something that decides about them is not ready."""
