"""Send requests to one API server, with the credentials of a kubeconfig and within limits."""
