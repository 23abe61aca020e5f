"""Read Events of the group events.k8s.io, which are the same objects as core Events in another API."""

from timeline.kinds import event

KIND = event.KIND._replace(group="events.k8s.io", watched=False)
