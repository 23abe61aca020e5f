"""This module reads StatefulSets, of which the same fields matter as of Deployments."""

from timeline.kinds import Telling, deployment

KIND = deployment.KIND._replace(kind="StatefulSet", short="sts", telling=Telling())
