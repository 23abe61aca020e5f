"""Find the objects that the labels of an alert name."""

import re
from collections.abc import Mapping

from timeline.kinds import address

LENGTH = 253  # characters of a name in Kubernetes
# The labels in which alerts name an object, as kube-state-metrics calls them. If an alert has several, the first of
# these that names a known object counts: the more specific kinds come first, such as a Pod before the Job that owns it.
LABELS = {
    "pod": "pod",
    "job_name": "job",
    "cronjob": "cronjob",
    "statefulset": "statefulset",
    "deployment": "deployment",
    "daemonset": "daemonset",
    "replicaset": "replicaset",
    "persistentvolumeclaim": "persistentvolumeclaim",
    "persistentvolume": "persistentvolume",
    "lease": "lease",
    "endpointslice": "endpointslice",
    "endpoint": "endpoints",
    "service": "service",
    "ingress": "ingress",
    "configmap": "configmap",
    "serviceaccount": "serviceaccount",
    "poddisruptionbudget": "poddisruptionbudget",
    "horizontalpodautoscaler": "horizontalpodautoscaler",
    "node": "node",
}
UID = re.compile(r"[0-9A-Za-z._:-]{1,128}")
UNPRINTABLE = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]")
_BRACKETED = re.compile(r"\[(.*)\](?::\d{1,5})?")  # an address of IPv6
_KIND = re.compile(r"[A-Za-z][A-Za-z0-9.-]{0,252}")
_EXPORTED = "exported_"
# What Prometheus itself says of the target that it scraped. If the metric has a label of the same name, it is renamed
# to `exported_…`, unless the job has `honor_labels`.
_SCRAPED = ("namespace", "pod", "service", "endpoint", "node", "instance")


def named_objects(labels: Mapping[str, str]) -> tuple[str, tuple[str, ...]]:
    """Return the namespace that labels name, or "", and the objects, the most certain first.

    An object is written as "pod/train-0", "uid/…" or "ip/10.0.0.1".
    """
    known = of_the_object(labels)
    found = []
    if UID.fullmatch(uid := known.get("uid", "")):
        found.append(f"uid/{uid}")
    if _KIND.fullmatch(kind := known.get("kind", "")) and (name := known.get("name", "")):
        found.append(f"{kind.lower()}/{name}")
    found += [f"{kind}/{known[label]}" for label, kind in LABELS.items() if label in known]
    if ip := address(host_of(known.get("ip", ""))):
        found.append(f"ip/{ip}")
    if host := host_of(known.get("instance", "")):
        found.append(f"ip/{ip}" if (ip := address(host)) else f"node/{host}")
    return known.get("namespace", ""), tuple(dict.fromkeys(found))


def host_of(text: str) -> str:
    """Return an address without its port: 10.0.0.1:9100, [fd00::1]:9100, node-3:9100."""
    if match := _BRACKETED.fullmatch(text):
        return match[1]
    host, colon, port = text.rpartition(":")
    return host if colon and port.isdecimal() and ":" not in host else text


def of_the_object(labels: Mapping[str, str]) -> dict[str, str]:
    """Return the labels that may be names, without those of the scraped target if the alert is about another object."""
    known = {label: text for label, value in labels.items() if (text := value.strip()) and _is_name(text)}
    exported = {label.removeprefix(_EXPORTED): value for label, value in known.items() if label.startswith(_EXPORTED)}
    if not exported.keys() & {"namespace", *LABELS}:
        return known
    return {label: value for label, value in known.items() if label not in _SCRAPED} | exported


def _is_name(text: str) -> bool:
    return len(text) <= LENGTH and not UNPRINTABLE.search(text)
