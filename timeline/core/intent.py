"""Read from an object what somebody wants of it, and the conditions that say whether it is well. It does no I/O.

The result is small and can be compared: if it differs between two states of an object, then somebody meant to change
something, or the object went bad. A heartbeat does not change it. Values that may be long or private are kept as a
hash. The object was redacted before.
"""

from collections.abc import Iterable
from hashlib import blake2b
from typing import Any, NamedTuple, TypeVar

import msgspec

from timeline.core.entries import Intent
from timeline.core.values import decoded, decoder

_LONGEST = 120  # characters of a value; a longer one is kept as a hash
LONGEST_INTENT = 60  # aspects of one object; a hash stands for the others
_MOST_TAGS = 12  # labels of one object, and as many annotations; a hash stands for the others
_DEEPEST = 12  # levels of maps and lists that are searched for aspects
_NEVER = frozenset(
    {
        ("", "Pod"),  # what its owner wants of a Pod is in the owner; people's writes are known by their requests
        ("", "Event"),
        ("", "Endpoints"),
        ("", "Binding"),
        ("events.k8s.io", "Event"),
        ("discovery.k8s.io", "EndpointSlice"),
        ("coordination.k8s.io", "Lease"),
        ("apps", "ControllerRevision"),
        ("metrics.k8s.io", "NodeMetrics"),
        ("metrics.k8s.io", "PodMetrics"),
        ("storage.k8s.io", "CSINode"),
        ("storage.k8s.io", "CSIStorageCapacity"),
        ("storage.k8s.io", "VolumeAttachment"),
        ("networking.k8s.io", "IPAddress"),
        ("cilium.io", "CiliumEndpoint"),
    }
)
_COUNTS = frozenset(
    {"replicas", "parallelism", "completions", "minReplicas", "maxReplicas", "minAvailable", "minMember"}
)
_PLAIN = frozenset({"suspend", "paused", "schedule", "unschedulable"})
_MAPS = frozenset({"selector", "podSelector", "namespaceSelector", "objectSelector", "nodeSelector"})
_CONTAINERS = frozenset({"containers", "initContainers"})
_DATA = frozenset({"data", "binaryData", "stringData"})
_HEAD = frozenset({"apiVersion", "kind", "metadata", "status", "spec"})
_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"  # repeats what the other fields say
_RESTARTED = "kubectl.kubernetes.io/restartedAt"
_GOOD = frozenset({"Ready", "Available", "Established", "Progressing", "Healthy", "Accepted", "Programmed"})
_BAD = frozenset(
    {"Failed", "ReplicaFailure", "NetworkUnavailable", "MemoryPressure", "DiskPressure", "PIDPressure", "Degraded",
     "Stalled", "NonStructuralSchema", "NamespaceDeletionContentFailure", "NamespaceDeletionDiscoveryFailure"}
)  # fmt: skip
_REMEMBERED = 1000  # specs whose answers are remembered


class _Metadata(msgspec.Struct, gc=False):
    finalizers: Any = None
    ownerReferences: Any = None
    labels: Any = None
    annotations: Any = None


class _Status(msgspec.Struct, gc=False):
    conditions: Any = None


_Part = TypeVar("_Part", _Metadata, _Status)


class _Wanted(NamedTuple):
    """What a spec says: its aspects, and the hashes of its template and of all else; "" if there is none."""

    aspects: tuple[tuple[str, str], ...]
    template: str
    rest: str


_known: dict[bytes, _Wanted] = {}  # what specs say, by their hashes
_decode_fields = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode
_decode_metadata = decoder(_Metadata)
_decode_status = decoder(_Status)
_encode = msgspec.json.Encoder(order="sorted").encode


def has_intent(group: str, kind: str) -> bool:
    """Return whether objects of a kind carry what somebody wants. Heartbeats, Events and endpoints do not."""
    return (group, kind) not in _NEVER


def intent_of(group: str, kind: str, body: bytes) -> Intent | None:
    """Return what somebody wants of an object, as sorted pairs of aspect and value; None where that cannot be known."""
    if not body or not has_intent(group, kind):
        return None
    try:
        whole = _decode_fields(body)
        found = _aspects(kind, whole)
    except (msgspec.DecodeError, RecursionError):
        return None
    pairs = sorted(found.items())
    if len(pairs) > LONGEST_INTENT:
        pairs = [*pairs[:LONGEST_INTENT], ("further fields", _hashed(pairs[LONGEST_INTENT:]))]
    return tuple(pairs)


def _aspects(kind: str, whole: dict[str, msgspec.Raw]) -> dict[str, str]:
    """Return what somebody wants of an object by aspect, without a limit of their number. Raise what msgspec raises."""
    found: dict[str, str] = {}
    if "metadata" in whole:
        _read_metadata(_read(whole["metadata"], _decode_metadata) or _Metadata(), found)
    wanted = _Wanted((), "", "")
    if "spec" in whole:
        wanted = _wanted(bytes(whole["spec"]))
        found.update(wanted.aspects)
    for key, value in whole.items():
        if key in _DATA:
            found[key] = _hashed(decoded(value))
        elif key not in _HEAD:
            found[f"field {_short(key)}"] = _hashed(decoded(value))
    if kind != "Node":  # addresses and the id of the machine, which nobody sets by hand
        found |= {name: value for name, value in (("template", wanted.template), ("spec", wanted.rest)) if value}
    if "status" in whole:
        _read_conditions(_read(whole["status"], _decode_status) or _Status(), found)
    return found


def _read(part: msgspec.Raw, decoder: msgspec.json.Decoder[_Part]) -> _Part | None:
    """Return a part of an object; None if it is not a map."""
    try:
        return decoder.decode(part)
    except msgspec.ValidationError:
        return None


def _wanted(spec: bytes) -> _Wanted:
    """Return what a spec says. Most changes of an object repeat its spec byte for byte, so the results are remembered
    by a hash: the spec of a CustomResourceDefinition has 30 KB."""
    key = blake2b(spec, digest_size=16).digest()
    known = _known.get(key)
    if known is None:
        known = _read_spec(spec)
        if len(known.aspects) <= LONGEST_INTENT:  # others would take much memory
            if len(_known) >= _REMEMBERED:  # other threads add to it, too
                _known.clear()
            _known[key] = known
    return known


def _read_spec(spec: bytes) -> _Wanted:
    """Return what a spec says, without remembering it."""
    fields = decoded(spec)
    if not isinstance(fields, dict):
        return _Wanted((), "", "")
    found: dict[str, str] = {}
    rest = _without_aspects(fields, "", found, 0)
    template = rest.pop("template", None)
    return _Wanted(tuple(found.items()), _hashed(template) if template else "", _hashed(rest) if rest else "")


def is_bad(aspect: str, value: str) -> bool:
    """Return whether a condition, as an aspect such as "condition Ready", is bad with this value."""
    name = aspect.partition(" ")[2]
    return value != "True" if name in _GOOD else value == "True"


def _read_metadata(metadata: _Metadata, found: dict[str, str]) -> None:
    finalizers = metadata.finalizers
    if isinstance(finalizers, list) and finalizers:
        found["finalizers"] = _listed(str(each) for each in finalizers)
    owners = metadata.ownerReferences
    if isinstance(owners, list) and owners:
        found["ownerReferences"] = _listed(
            f"{each.get('kind')} {each.get('name')}" for each in owners if isinstance(each, dict)
        )
    _read_tags(metadata.labels, "label", found)
    _read_tags(metadata.annotations, "annotation", found)


def _read_tags(tags: Any, name: str, found: dict[str, str]) -> None:
    """Add labels or annotations, each with the hash of its value, which may be private."""
    pairs = (
        sorted((str(key), value) for key, value in tags.items() if key != _APPLIED) if isinstance(tags, dict) else []
    )
    for key, value in pairs[:_MOST_TAGS]:
        found[f"{name} {_short(key)}"] = _hashed(value)
    if rest := pairs[_MOST_TAGS:]:
        found[f"{name}s"] = _hashed(rest)


def is_tag(aspect: str) -> bool:
    """Return whether an aspect is a label, an annotation, or several of these."""
    return aspect.partition(" ")[0] in ("label", "labels", "annotation", "annotations")


def _read_conditions(status: _Status, found: dict[str, str]) -> None:
    conditions = status.conditions
    for each in conditions if isinstance(conditions, list) else ():
        if isinstance(each, dict) and isinstance(name := each.get("type"), str):
            found.update(filter(None, [condition(name, str(each.get("status")))]))


def condition(name: str, status: str) -> tuple[str, str] | None:
    """Return a condition as aspect and value; None if it does not say whether the object is well."""
    if name not in _GOOD and name not in _BAD:
        return None
    return f"condition {name}", status if status in ("True", "False", "Unknown") else "Unknown"


def _without_aspects(fields: dict[str, Any], place: str, found: dict[str, str], depth: int) -> dict[str, Any]:
    """Add the aspects of a map to `found`, and return the map without them. `place` names the item of a list that the
    map is in."""
    rest: dict[str, Any] = {}
    for key, value in fields.items():
        if value is None:
            continue
        if key in _CONTAINERS and isinstance(value, list):
            left = [_container(each, place, found) if isinstance(each, dict) else each for each in value]
            if any(left):
                rest[key] = left
        elif key in _COUNTS and isinstance(value, int):
            _add(found, _aspect(key, place), str(value))
        elif (key in _PLAIN and isinstance(value, str | bool)) or (key in _MAPS and isinstance(value, dict)):
            _add(found, _aspect(key, place), _value(value))
        elif key == "taints" and isinstance(value, list):
            _add(found, _aspect(key, place), _listed(map(_taint, value)))
        elif key == _RESTARTED:
            _add(found, _aspect("restart", place), _value(value))
        elif isinstance(value, dict) and depth < _DEEPEST:
            if left_over := _without_aspects(value, place, found, depth + 1):
                rest[key] = left_over
        elif isinstance(value, list) and depth < _DEEPEST:
            rest[key] = [
                _without_aspects(each, _short(each.get("name", place)), found, depth + 1)
                if isinstance(each, dict)
                else each
                for each in value
            ]
        else:
            rest[key] = value
    return rest


def _container(fields: dict[str, Any], place: str, found: dict[str, str]) -> dict[str, Any]:
    name = "/".join(filter(None, (place, _short(fields.get("name", "")))))
    rest = dict(fields)
    rest.pop("name", None)
    if image := rest.pop("image", None):
        _add(found, _aspect("image", name), _value(image))
    command = [rest.pop("command", None), rest.pop("args", None)]
    if any(command):
        _add(found, _aspect("command", name), _hashed(command))
    if resources := rest.pop("resources", None):
        _add(found, _aspect("resources", name), _value(resources))
    environment = [rest.pop("env", None), rest.pop("envFrom", None)]
    if any(environment):
        _add(found, _aspect("environment", name), _hashed(environment))
    return rest


def _taint(taint: Any) -> str:
    if not isinstance(taint, dict):
        return ""
    key, value, effect = (str(taint.get(name) or "") for name in ("key", "value", "effect"))
    return f"{key}{'=' if value else ''}{value}:{effect}"


def _aspect(name: str, place: str) -> str:
    return f"{name} {place}" if place else name


def _add(found: dict[str, str], aspect: str, value: str) -> None:
    """Add a value. Two of one aspect, as of containers without a name, are kept together."""
    found[aspect] = value if aspect not in found else _value(f"{found[aspect]}; {value}")


def _listed(values: Iterable[str]) -> str:
    return _value(", ".join(sorted(set(filter(None, values)))))


def _short(value: Any) -> str:
    text = value if isinstance(value, str) else ""
    return text if len(text) <= _LONGEST else _hashed(text)


def _value(value: Any) -> str:
    text = value if isinstance(value, str) else _encode(value).decode()
    return text if len(text) <= _LONGEST else _hashed(value)


def _hashed(value: Any) -> str:
    return f"#{blake2b(_encode(value), digest_size=4).hexdigest()}"
