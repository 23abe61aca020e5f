"""Rules about Pods, volumes and the nodes that are to run them."""
