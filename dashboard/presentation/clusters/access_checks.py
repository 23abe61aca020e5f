"""Describe in sentences what a cluster answered when Causeline checked its access."""

from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

from collectors.addresses import is_loopback
from collectors.watch.access import AccessReport, Grant

_PARTICIPLES = {"list": "listed", "watch": "watched", "create": "created", "patch": "changed"}


def sentences(checked: AccessReport, reference: Mapping[str, Any]) -> list[str]:
    """Return one sentence for each thing to know about the access. `reference` says how the cluster is reached."""
    found = [f"The cluster runs Kubernetes {checked.version}."] if checked.version else []
    found += _exposures(reference)
    if checked.problem:
        return [*found, checked.problem]
    if checked.reviews_refused:
        unknown = "The cluster does not answer which kinds may be watched. The page shows it once it is connected."
        return [*found, f"{unknown} {checked.reviews_refused}"]
    allowed = len(checked.grants) - len(checked.refused)
    limited = any(each.namespace for each in checked.grants)
    what = "watches of one kind, in one namespace or of cluster-scoped objects, are allowed" if limited else ""
    found.append(f"{allowed} of {len(checked.grants)} {what or 'kinds may be watched'}.")
    found += [refusal(each) for each in checked.refused]
    for each in checked.affected_rules:
        kinds = " and ".join(each.kinds)
        found.append(f"So the rule {each.rule} {'cannot judge' if each.wholly else 'judges only in part'}: no {kinds}.")
    if checked.events:
        found.append(refusal(checked.events) if checked.events.refused else "Events about incidents may be written.")
    return found


def _exposures(reference: Mapping[str, Any]) -> list[str]:
    """Return a warning for each way in which the connection can be read by others."""
    found = []
    reader = "anybody on the network path can read the connection"
    if reference.get("insecure"):
        found.append(f"Its certificate is not checked (insecure-skip-tls-verify): {reader}.")
    server = urlsplit(str(reference.get("server") or ""))
    if server.scheme == "http" and not is_loopback(server.hostname or ""):
        found.append(f"Its address begins with http://: {reader}, including the credentials.")
    return found


def refusal(grant: Grant) -> str:
    """Return a sentence that names the verbs that the cluster refuses for a resource, and why."""
    why = f": {grant.reason}" if grant.reason else ""
    where = f" in {grant.namespace}" if grant.namespace else ""
    return f"{grant.resource}{where} may not be {' or '.join(_PARTICIPLES[verb] for verb in grant.refused)}{why}."
