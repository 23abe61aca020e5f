"""Turn a connected cluster into an `Api`. Stored credentials are encrypted; others stay where they are."""

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
from django.db import transaction

from collectors.hosts import Gate
from collectors.watch.server import exec_permissions
from collectors.watch.server.failures import Unusable
from collectors.watch.server.files import Allowed
from collectors.watch.server.kubeconfig import Kubeconfig, own

if TYPE_CHECKING:
    from collections.abc import Sequence

    from django.db.models import QuerySet

    from collectors.watch.server.api import Api
    from collectors.watch.server.kubeconfig import Read
    from timeline.models import Cluster, LogStore

__all__ = ["Unusable", "api_of", "api_to", "kubeconfig_at", "own_kubeconfig", "seal", "unseal"]

STORED, BY_PATH, IN_CLUSTER = "stored", "path", "in-cluster"
BY_COLLECTOR = "collector"  # a collector inside the cluster sends what it observes, and nothing here connects to it
NO_KEY = (
    "Credentials are stored only encrypted, and CAUSELINE_CREDENTIALS_KEY is not set: set it to a long random text for "
    "web and workers alike, such as `openssl rand -hex 32` gives, and keep a copy. Or connect by path, or in-cluster."
)


def api_of(cluster: Cluster) -> Api:
    """Return a connection to a connected cluster. Raise Unusable."""
    return api_to(cluster.name, cluster.reference, bytes(cluster.secret) if cluster.secret is not None else None)


def api_to(cluster: str, reference: dict[str, Any], secret: bytes | None) -> Api:
    """Return a connection by a cluster's name and its columns `reference` and `secret`. Raise Unusable."""
    from collectors.watch.server.api import Api  # imported late: pages and most commands do not need its urllib3

    try:
        match reference.get("how"):
            case "in-cluster":
                return Api.in_cluster()
            case "collector":
                raise Unusable("A collector inside the cluster watches it, and Causeline does not connect to it.")
            case "path":
                return Api.from_kubeconfig(lambda: _read_by_path(cluster, reference))
            case _ if secret is not None:
                kept = Kubeconfig(orjson.loads(unseal(secret)))
                return Api.from_kubeconfig(kept.reduced, gate=_gate())
    except Unusable:
        raise
    except Exception as error:  # messages of the package may quote credentials
        raise Unusable(f"The credentials cannot be used ({type(error).__name__}).") from None
    raise Unusable("No credentials are stored for it. Connect it again.")


def _gate() -> Gate | None:
    """Return where stored kubeconfigs may lead; None for everywhere. Those by path are an operator's choice."""
    return None if settings.CLUSTER_HOSTS is None else Gate("CAUSELINE_CLUSTER_HOSTS", settings.CLUSTER_HOSTS)


def may_run_programs(cluster: str, reference: dict[str, Any], kubeconfig: Kubeconfig) -> bool:
    """Return whether the exec plugins in a kubeconfig may run for the cluster of this name.

    This function alone decides it. Raise Unusable if they would have to run, and the permission in the cluster's row is
    not valid.
    """
    if kubeconfig.context(reference.get("context", "")).programs and (
        why := exec_permissions.refusal(cluster, reference)
    ):
        raise Unusable(why)
    return exec_permissions.allowed(cluster, reference)


def _read_by_path(cluster: str, reference: dict[str, Any]) -> dict[str, Any]:
    """Read, check and reduce a kubeconfig that a cluster is connected by. Raise Unusable."""
    kubeconfig = kubeconfig_at(Path(reference["path"]))
    may_run = may_run_programs(cluster, reference, kubeconfig)
    return kubeconfig.reduced(reference.get("context", ""), by_path().read, programs=may_run)


def kubeconfig_at(path: Path) -> Kubeconfig:
    """Return the kubeconfig at a path that workers read repeatedly. Raise Unusable outside of the allowed folders."""
    return Kubeconfig(by_path().read(path), path.parent)


def own_kubeconfig(paths: Sequence[Path]) -> tuple[Kubeconfig, Read]:
    """Return the kubeconfig that the user of a command names, and a function that reads the files it names.

    These files may be beside it, or in the folders that an operator allows. Raise Unusable.
    """
    never = (settings.UPLOAD_DIR,)
    beside = tuple(path.parent for path in paths)
    return own(paths, Allowed(None, never)), Allowed((*beside, *settings.KUBECONFIG_DIRS), never).read


def by_path() -> Allowed:
    """Return where workers may read kubeconfigs: in the allowed folders, and never among uploads.

    An uploaded kubeconfig could name a program to run.
    """
    return Allowed(settings.KUBECONFIG_DIRS, (settings.UPLOAD_DIR,))


def seal(plain: bytes) -> bytes:
    """Return the bytes encrypted with the first key. Raise Unusable if no key is set."""
    return _vault().encrypt(plain)


def unseal(sealed: bytes, seconds: int | None = None) -> bytes:
    """Return what was encrypted with any of the keys, at most so many seconds ago. Raise Unusable."""
    try:
        return _vault().decrypt(sealed, seconds)
    except InvalidToken:
        raise Unusable(
            "The credentials were encrypted with a key that is not in CAUSELINE_CREDENTIALS_KEY: add that key after "
            "the new one, or connect the cluster again."
        ) from None


def renew(rows: QuerySet[Cluster] | QuerySet[LogStore]) -> int:
    """Encrypt the secrets of these rows again, with the first key; return how many there were. Raise Unusable."""
    with transaction.atomic():
        kept = rows.select_for_update().exclude(secret=None)
        for row in kept:
            assert row.secret is not None
            row.secret = seal(unseal(bytes(row.secret)))
            row.save(update_fields=["secret"])
    return len(kept)


def _vault() -> MultiFernet:
    if not settings.CREDENTIALS_KEYS:
        raise Unusable(NO_KEY)
    return _vault_of(tuple(settings.CREDENTIALS_KEYS))


@lru_cache(4)
def _vault_of(keys: Sequence[str]) -> MultiFernet:
    return MultiFernet([Fernet(_key(each)) for each in keys])


def _key(text: str) -> bytes:
    """Return a Fernet key derived from any long random text, as for CAUSELINE_SECRET_KEY."""
    derived = HKDF(SHA256(), 32, None, b"causeline credentials").derive(text.encode())
    return base64.urlsafe_b64encode(derived)
