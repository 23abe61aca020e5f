"""Read StatefulSets, whose facts are the same as those of Deployments."""

from timeline.kinds import Telling, deployment

KIND = deployment.KIND._replace(kind="StatefulSet", short="sts", telling=Telling())
