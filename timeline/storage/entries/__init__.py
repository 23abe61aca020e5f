"""Store entries in chunks, and manage the tables that hold them."""
