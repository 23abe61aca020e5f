"""What the commands of `causeline` do that need the database: a function for each."""
