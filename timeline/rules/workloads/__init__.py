"""Rules about the Pods of workloads, and the traffic to them."""
