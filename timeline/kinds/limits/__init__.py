"""Kinds that bound how many Pods there are, or may be taken away."""
