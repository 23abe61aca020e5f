"""Nodes and what kubelets say of them."""
