"""Decide which clusters' kubeconfigs may run an exec plugin where Causeline runs.

A user who may run programs there allows it at a terminal. The permission in the cluster's row is a signature by a key
that is not in the database. It covers the cluster's name, the path and the context, so a row that was written, changed
or copied in the database allows nothing.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import orjson
from django.conf import settings
from django.utils.crypto import constant_time_compare, salted_hmac

_SALT = "collectors.watch.programs"  # of the signatures in the database; another one would invalidate them


def permission(cluster: str, reference: dict[str, Any]) -> str:
    """Return the signature that lets the exec plugins of this kubeconfig run for the cluster of this name."""
    return _signature(cluster, reference, _keys()[0])


def allowed(cluster: str, reference: dict[str, Any]) -> bool:
    """Return whether the exec plugins may run: whether the signature in the reference is valid."""
    given = reference.get("programs")
    return isinstance(given, str) and any(
        constant_time_compare(given, _signature(cluster, reference, key)) for key in _keys()
    )


def refusal(cluster: str, reference: dict[str, Any]) -> str:
    """Return why exec plugins with an invalid permission may not run, and what to do; "" without a permission."""
    if not reference.get("programs") or allowed(cluster, reference):
        return ""
    return (
        "Its kubeconfig names a program (exec), and the permission to run it is not valid: it was given by an earlier "
        "version or with another key, or its row was changed in the database. Nothing was run. To allow it again, run "
        f"`causeline connect --name {cluster} --kubeconfig {reference.get('path')} --by-path` where Causeline runs"
        f"{', with its --context' if reference.get('context') else ''}."
    )


def _signature(cluster: str, reference: dict[str, Any], key: str) -> str:
    # Only the folder is resolved: Kubernetes replaces a mounted file by changing where its link leads.
    path = Path(str(reference.get("path")))
    signed = [
        cluster,
        reference.get("how"),
        str(path),
        str(path.parent.resolve() / path.name),
        reference.get("context"),
    ]
    return salted_hmac(_SALT, orjson.dumps(signed), secret=key, algorithm="sha256").hexdigest()


def _keys() -> list[str]:
    """Return the keys that are accepted; the first one signs."""
    return [*settings.CREDENTIALS_KEYS, settings.SECRET_KEY]
