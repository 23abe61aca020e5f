"""A recording as a Kubernetes API server: kubectl, client libraries and Causeline itself look at the past with it."""

from collectors.replay.serving import Replay, replaying, serve

__all__ = ["Replay", "replaying", "serve"]
