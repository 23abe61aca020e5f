"""These tests render the Helm chart with the real helm, check the objects with kubeconform, and compare them with the
application. No cluster is needed."""
