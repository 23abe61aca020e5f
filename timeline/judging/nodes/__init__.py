"""What rules share that judge Pods and their nodes."""
