"""This package lists and watches the resources of a cluster."""
