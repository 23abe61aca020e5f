"""Write a Kubernetes Event about an incident into the cluster in which it happened.

The Event is about the object that the incident is about, so `kubectl describe` shows it there. It is written only if
somebody has turned it on for the cluster, and the cluster's credentials have the right. An incident has one Event: its
name follows from the incident, and it says which message it showed last, so what is sent again is not counted twice.
"""

import hashlib
import re
import time
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

import orjson
from django.utils import timezone

from collectors.watch import access
from collectors.watch.server import credentials
from collectors.watch.server.api import Api
from collectors.watch.server.bodies import SMALL_BYTES
from collectors.watch.server.failures import ApiError, Missing
from collectors.watch.server.failures import RequestRefused as NotTaken
from collectors.watch.server.failures import Unreachable as NotReached
from dashboard.alerting.messages import DestinationRefused, Message, Unreachable
from dashboard.alerting.texts import event_note
from timeline.models import Cluster
from timeline.queries.incidents import anchors
from timeline.queries.incidents.anchors import Anchor

NAME = "kubernetes_event"
label = "Kubernetes Event"
FIELDS = ()
_SHOWN = "causeline.dev/message"  # the annotation with the key of the message that an Event showed last
_REASONS = {"began": "IncidentBegan", "worse": "IncidentGotWorse", "over": "IncidentIsOver"}
_SECONDS = 15.0  # after which no further Event is begun; those that are written are not written again
_CLUSTER_SCOPE = "default"  # the namespace of Events about objects without one
_NAMESPACE = re.compile(r"[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?")
_FOR_GOOD = {400, 404, 405, 413, 422}
_NOT_ON = "Events are not turned on for any connected cluster: that is a setting on the page of a cluster."


class _Silent(Unreachable):
    """Nothing can be asked of the cluster now."""


def check(config: Mapping[str, str]) -> None:
    """Accept it: it has no values."""


def send(config: Mapping[str, str], messages: Sequence[Message], *, key: str) -> str:
    """Write an Event for each incident. Incidents of other clusters and of recordings are left out and counted.

    What one API server does not take holds up no other incident: the rest is written before an error is raised.
    """
    tests = [each for each in messages if each.change == "test"]
    if tests:
        return _rights()
    abouts = [(each, anchors.anchor(*each.incident) if each.incident else None) for each in messages]
    wanted = [(each, about) for each, about in abouts if about and about.cluster.write_events]
    if not wanted:
        raise DestinationRefused(
            "None of these incidents is about an object of a cluster for which Events are turned on."
        )
    left_out = len(messages) - len(wanted)
    more = f"; {left_out} left out, whose clusters do not want Events" if left_out else ""
    written, refused, later = _all_written(wanted)
    if later:
        after = max(each.after for each in later)
        said = f"{len(written)} of {len(wanted)} Events were written. {later[0]}"
        raise Unreachable(said, after, others=True)  # which may be about another cluster
    if refused and not written:
        raise DestinationRefused(str(refused[0]))
    more += f"; {len(refused)} refused: {refused[0]}" if refused else ""
    return f"{', '.join(dict.fromkeys(written))}{more}"


def _all_written(
    wanted: Sequence[tuple[Message, Anchor]],
) -> tuple[list[str], list[DestinationRefused], list[Unreachable]]:
    """Write Events. Return where those are that were written, and why the others were not."""
    written: list[str] = []
    refused: list[DestinationRefused] = []
    later: list[Unreachable] = []
    silent: set[int] = set()  # clusters that did not answer, so nothing else is asked of them now
    until = time.monotonic() + _SECONDS
    for message, about in sorted(wanted, key=lambda each: each[1].cluster.state == Cluster.State.FAILING):
        if about.cluster.pk in silent:
            continue
        if time.monotonic() > until:
            later.append(Unreachable("An API server answers so slowly that the rest follows later."))
            break
        try:
            written.append(_write(about, message))
        except DestinationRefused as error:
            refused.append(error)
        except Unreachable as error:
            later.append(error)
            if isinstance(error, _Silent):
                silent.add(about.cluster.pk)
    return written, refused, later


def _write(found: Anchor, message: Message) -> str:
    """Write the Event of one incident, and return where it is. Raise Refused or Unreachable."""
    try:
        api = credentials.api_of(found.cluster)
        try:
            return _written(api, found, message)
        finally:
            api.close()
    except NotTaken as error:
        if error.status in _FOR_GOOD:
            raise DestinationRefused(str(error)) from None
        raise Unreachable(str(error), error.retry_after or 0.0) from None
    except (NotReached, credentials.Unusable) as error:
        raise _Silent(str(error)) from None
    except ApiError as error:
        raise Unreachable(str(error)) from None
    except (ValueError, AttributeError):
        raise Unreachable("The answer of the API server was not understood.") from None


def _written(api: Api, about: Anchor, message: Message) -> str:
    namespace = about.namespace or _CLUSTER_SCOPE
    if not _NAMESPACE.fullmatch(namespace):  # it becomes a part of the path
        raise DestinationRefused("The namespace of the object is none that Kubernetes takes.")
    events = f"/api/v1/namespaces/{namespace}/events"
    name = f"causeline-{_hash(about, message)}"
    written = f"Event {namespace}/{name}"
    try:
        known = orjson.loads(api.get(f"{events}/{name}", most=SMALL_BYTES))
    except Missing:
        api.post(events, orjson.dumps(_event(about, message, namespace, name)))
        return written
    metadata = known.get("metadata") or {}
    if (metadata.get("annotations") or {}).get(_SHOWN) == message.key:
        return written  # an earlier attempt has written it, and its answer was lost
    changed = _changing(message)
    changed["count"] = int(known.get("count") or 1) + 1
    changed["metadata"]["resourceVersion"] = metadata.get("resourceVersion")  # nobody else has counted it meanwhile
    api.patch(f"{events}/{name}", orjson.dumps(changed))
    return written


def _event(about: Anchor, message: Message, namespace: str, name: str) -> dict[str, Any]:
    involved = {
        "apiVersion": about.api_version,
        "kind": about.kind,
        "namespace": about.namespace,
        "name": about.name,
        "uid": about.uid,
    }
    changing = _changing(message)
    return {
        "apiVersion": "v1",
        "kind": "Event",
        **changing,
        "metadata": {"name": name, "namespace": namespace, **changing["metadata"]},
        "involvedObject": {field: value for field, value in involved.items() if value},
        "source": {"component": "causeline"},
        "reportingComponent": "causeline",
        "reportingInstance": "",
        "firstTimestamp": _time(message.started or timezone.now()),
        "count": 1,
    }


def _changing(message: Message) -> dict[str, Any]:
    """Return the fields that each message sets anew."""
    return {
        "metadata": {"annotations": {_SHOWN: message.key}},
        "type": "Normal" if message.change == "over" or message.severity == "info" else "Warning",
        "reason": _reason(message),
        "message": event_note(message),
        "lastTimestamp": _time(timezone.now()),
    }


def _reason(message: Message) -> str:
    if message.unwatched:
        return "IncidentNotWatched"
    return "IncidentGoesOn" if message.again and message.change == "began" else _REASONS[message.change]


def _hash(about: Anchor, message: Message) -> str:
    """Return the end of an Event's name: the same whenever the same incident is sent about the same object."""
    return hashlib.sha256(f"{message.kept_as.url} {about.kind} {about.name}".encode()).hexdigest()[:32]


def _time(at: datetime) -> str:
    return at.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _rights() -> str:
    """Return whether Events may be written into the clusters for which they are turned on. Write nothing."""
    found = []
    for cluster in Cluster.objects.filter(write_events=True).order_by("name"):
        try:
            api = credentials.api_of(cluster)
            try:
                refused = access.may_write_events(api).refused
            finally:
                api.close()
        except NotReached as error:
            raise Unreachable(f"{cluster.name}: {error}") from None
        except ApiError as error:
            raise DestinationRefused(f"{cluster.name}: {error}") from None
        if refused:
            raise DestinationRefused(f"{cluster.name} does not allow to {' and to '.join(refused)} Events.")
        found.append(cluster.name)
    if not found:
        raise DestinationRefused(_NOT_ON)
    return f"Events may be written into {', '.join(found)}; a test writes none"
