"""Serve a recording as a Kubernetes API server, for kubectl, client libraries and Causeline itself."""

from collectors.replay.serving import Replay, replaying, serve

__all__ = ["Replay", "replaying", "serve"]
