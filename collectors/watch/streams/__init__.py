"""List and watch the resources of a cluster."""
