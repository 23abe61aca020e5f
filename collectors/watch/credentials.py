"""This module turns a connected cluster into an `Api`. Stored credentials are encrypted, others referred to."""

from __future__ import annotations

import base64
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import orjson
from cryptography.fernet import Fernet, InvalidToken, MultiFernet
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from django.conf import settings

from collectors.watch import exec_permissions
from collectors.watch.failures import Unusable
from collectors.watch.files import Allowed
from collectors.watch.kubeconfig import Kubeconfig, own

if TYPE_CHECKING:
    from collections.abc import Sequence

    from collectors.watch.api import Api
    from collectors.watch.kubeconfig import Read
    from timeline.models import Cluster

__all__ = ["Unusable", "api_of", "api_to", "kubeconfig_at", "own_kubeconfig", "seal", "unseal"]

STORED, BY_PATH, IN_CLUSTER = "stored", "path", "in-cluster"
NO_KEY = (
    "Credentials are kept encrypted only, and CAUSELINE_CREDENTIALS_KEY is not set: set it to a long random text for "
    "web and workers alike, such as `openssl rand -hex 32` gives, and keep a copy. Or connect by path, or in-cluster."
)


def api_of(cluster: Cluster) -> Api:
    """A connection to a cluster that is connected. Raises Unusable."""
    return api_to(cluster.name, cluster.reference, bytes(cluster.secret) if cluster.secret is not None else None)


def api_to(cluster: str, reference: dict[str, Any], secret: bytes | None) -> Api:
    """A connection by a cluster's name and what stands in its `reference` and `secret`. Raises Unusable."""
    from collectors.watch.api import Api  # late: the package kubernetes takes half a second, and not all need it

    try:
        match reference.get("how"):
            case "in-cluster":
                return Api.in_cluster()
            case "path":
                return Api.from_kubeconfig(lambda: _read_by_path(cluster, reference))
            case _ if secret is not None:
                kept = Kubeconfig(orjson.loads(unseal(secret)))
                return Api.from_kubeconfig(kept.reduced)
    except Unusable:
        raise
    except Exception as error:  # what the package says of credentials may quote them
        raise Unusable(f"The credentials cannot be used ({type(error).__name__}).") from None
    raise Unusable("No credentials are stored for it. Connect it anew.")


def may_run_programs(cluster: str, reference: dict[str, Any], kubeconfig: Kubeconfig) -> bool:
    """Return whether the programs that a kubeconfig names may run for the cluster of this name. Nothing else decides.

    Raises Unusable where they would have to run, and the permission for it in the cluster's row is not valid.
    """
    if kubeconfig.context(reference.get("context", "")).programs and (
        why := exec_permissions.refusal(cluster, reference)
    ):
        raise Unusable(why)
    return exec_permissions.allowed(cluster, reference)


def _read_by_path(cluster: str, reference: dict[str, Any]) -> dict[str, Any]:
    """Read, check and reduce a kubeconfig that is only referred to. Raises Unusable."""
    kubeconfig = kubeconfig_at(Path(reference["path"]))
    may_run = may_run_programs(cluster, reference, kubeconfig)
    return kubeconfig.reduced(reference.get("context", ""), by_path().read, programs=may_run)


def kubeconfig_at(path: Path) -> Kubeconfig:
    """Return the kubeconfig of a path that is read again and again. Raises Unusable outside of the allowed folders."""
    return Kubeconfig(by_path().read(path), path.parent)


def own_kubeconfig(paths: Sequence[Path]) -> tuple[Kubeconfig, Read]:
    """Return what whoever runs a command has given, and what reads the files that it names: those beside it, and those
    in the folders that an operator allows. Raises Unusable."""
    never = (settings.UPLOAD_DIR,)
    beside = tuple(path.parent for path in paths)
    return own(paths, Allowed(None, never)), Allowed((*beside, *settings.KUBECONFIG_DIRS), never).read


def by_path() -> Allowed:
    """An uploaded file is never read: whoever may upload could name a program in it."""
    return Allowed(settings.KUBECONFIG_DIRS, (settings.UPLOAD_DIR,))


def seal(plain: bytes) -> bytes:
    """Encrypted with the first key. Raises Unusable where there is none."""
    return _vault().encrypt(plain)


def unseal(sealed: bytes, seconds: int | None = None) -> bytes:
    """What was sealed with any of the keys, not longer ago than so many seconds. Raises Unusable."""
    try:
        return _vault().decrypt(sealed, seconds)
    except InvalidToken:
        raise Unusable(
            "The credentials were encrypted with a key that is not in CAUSELINE_CREDENTIALS_KEY: add that key behind "
            "the new one, or connect the cluster anew."
        ) from None


def renewed(sealed: bytes) -> bytes:
    """The same, encrypted with the first key. Raises Unusable."""
    return seal(unseal(sealed))


def _vault() -> MultiFernet:
    if not settings.CREDENTIALS_KEYS:
        raise Unusable(NO_KEY)
    return _vault_of(tuple(settings.CREDENTIALS_KEYS))


@lru_cache(4)
def _vault_of(keys: Sequence[str]) -> MultiFernet:
    return MultiFernet([Fernet(_key(each)) for each in keys])


def _key(text: str) -> bytes:
    """Any long random text is a key, as for CAUSELINE_SECRET_KEY."""
    derived = HKDF(SHA256(), 32, None, b"causeline credentials").derive(text.encode())
    return base64.urlsafe_b64encode(derived)
