"""Make those files of the Helm chart that are derived from others, and the plain manifests."""
