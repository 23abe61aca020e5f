"""This module reads StatefulSets just as Deployments."""

from timeline.kinds import deployment

KIND = deployment.KIND._replace(kind="StatefulSet", short="sts")
