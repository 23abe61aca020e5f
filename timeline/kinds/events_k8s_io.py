"""The Event of group events.k8s.io: the same objects, served by another API."""

from timeline.kinds import event

KIND = event.KIND._replace(group="events.k8s.io")
