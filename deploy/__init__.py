"""Programs that set up a checkout, build the documentation site and a release, and check what was vendored."""
