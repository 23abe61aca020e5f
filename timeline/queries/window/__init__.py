"""Read what the page of a timeline draws: windows, their rows, the overview and the search."""
