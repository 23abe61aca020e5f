"""The subcommands that start Causeline's servers, or work with the database of those that run."""
