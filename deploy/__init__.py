"""Programs that set up a checkout, build the site and a release, and check vendored files."""
