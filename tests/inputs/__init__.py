"""These modules make and read what Causeline takes in: audit logs, watches, objects, bundles and credentials."""
