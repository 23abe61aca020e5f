"""Fill the configuration of the Kubernetes client library, and keep it from reading any other.

A kubeconfig arrives checked and reduced (`collectors.watch.server.kubeconfig`), and the library gets that dict: no
path, and no file of the home folder. Client keys do not stay in temporary files, where the library would leave them.

The library is imported by the functions that use it, because that takes half a second.
"""

from __future__ import annotations

import base64
import logging
import ssl
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import urllib3
from urllib3.exceptions import InsecureRequestWarning
from urllib3.util.ssl_ import create_urllib3_context

from collectors.addresses import is_loopback
from collectors.watch.server import exec_credentials, gated
from collectors.watch.server.failures import Unusable

if TYPE_CHECKING:
    from kubernetes.client import Configuration

    from collectors.hosts import Gate

Load = Callable[["Configuration"], tuple[ssl.SSLContext, dict[str, Any]]]  # the context for TLS, pools by scheme
logging.getLogger("urllib3.connection").setLevel(logging.ERROR)  # its warnings quote what a server sends
_KEY_FIELDS = ("client-certificate-data", "client-key-data")


def from_kubeconfig(read: Callable[[], dict[str, Any]], gate: Gate | None = None) -> Load:
    """Return a function that loads a reduced kubeconfig, which `read` reads and checks again each time. A gate limits
    where its connections lead.

    The function raises what `read` raises.
    """

    def load(to: Configuration) -> tuple[ssl.SSLContext, dict[str, Any]]:
        from kubernetes.config import load_kube_config_from_dict

        kubeconfig = read()
        cluster, user = kubeconfig["clusters"][0]["cluster"], kubeconfig["users"][0]["user"]
        credential = None
        if "exec" in user:
            credential = exec_credentials.run(user["exec"], cluster)
            user = {name: content for name, content in user.items() if name != "exec"} | credential.user
        keys = {name: user[name] for name in _KEY_FIELDS if user.get(name)}
        plain = {name: content for name, content in user.items() if name not in keys}
        without_keys = {**kubeconfig, "users": [{**kubeconfig["users"][0], "user": plain}]}
        load_kube_config_from_dict(without_keys, None, to, persist_config=False)  # type: ignore[no-untyped-call]
        if "proxy-url" not in cluster and is_loopback(urllib3.util.parse_url(str(to.host)).host or ""):
            to.proxy = None  # as for kubectl, HTTP_PROXY does not apply to this machine
        context = _context(to)
        if authority := cluster.get("certificate-authority-data"):
            context.load_verify_locations(cadata=base64.b64decode(authority).decode("ascii"))
        if len(keys) == len(_KEY_FIELDS):
            _load_keys(context, [base64.b64decode(keys[name]) for name in _KEY_FIELDS])

        def renew(expired: Configuration) -> None:
            """Run the exec plugin again if its credential has expired; its permission is checked before each run."""
            if credential and credential.expired:
                load(expired)

        configuration_object: Any = to  # the library's types are incomplete
        configuration_object.refresh_api_key_hook = renew
        return context, gated.pools(gate, own_proxy="proxy-url" in cluster)

    return load


def in_cluster(to: Configuration) -> tuple[ssl.SSLContext, dict[str, Any]]:
    """Load the configuration that Kubernetes mounts into a Pod."""
    from kubernetes.config import load_incluster_config

    load_incluster_config(to)  # type: ignore[no-untyped-call]
    context = _context(to)
    context.load_verify_locations(cafile=to.ssl_ca_cert)
    return context, gated.pools(None, own_proxy=False)


def _context(to: Configuration) -> ssl.SSLContext:
    """Return the TLS context for a connection. Unless the configuration names a CA file, it trusts the certificate
    authorities of the system.

    Loading those takes a while, so they are not loaded where no connection uses TLS, as through `kubectl proxy`.
    """
    context = create_urllib3_context(cert_reqs=ssl.CERT_REQUIRED if to.verify_ssl else ssl.CERT_NONE)
    without_tls = str(to.host).lower().startswith("http://") and not to.proxy
    if not to.ssl_ca_cert and not without_tls:
        context.load_default_certs()
    return context


def _load_keys(context: ssl.SSLContext, parts: list[bytes]) -> None:
    """Load the client certificate and its key from temporary files, since OpenSSL reads them only from files."""
    with tempfile.TemporaryDirectory(prefix="causeline-") as folder:
        certificate, key = Path(folder) / "certificate", Path(folder) / "key"
        certificate.write_bytes(parts[0])
        key.write_bytes(parts[1])
        context.load_cert_chain(certificate, key)


def configured(load: Load, socket_options: list[tuple[int, int, int]], connections: int) -> tuple[Configuration, Any]:
    """Return a filled configuration, and its pool of connections. Raise Unusable."""
    from kubernetes.client import Configuration
    from kubernetes.client.rest import RESTClientObject
    from kubernetes.config.config_exception import ConfigException

    configuration = Configuration()
    configuration.connection_pool_maxsize = connections
    configuration.socket_options = socket_options
    try:
        context, pools = load(configuration)
        configuration.ssl_ca_cert = configuration.cert_file = configuration.key_file = None  # `context` has them
        pool: urllib3.PoolManager = RESTClientObject(configuration).pool_manager
    except Unusable:
        raise
    except ConfigException as error:
        raise Unusable(f"The configuration cannot be used: {_first_line(error)}") from None
    except ssl.SSLError:
        raise Unusable("The configuration cannot be used: a certificate or a key in it is not valid.") from None
    except OSError as error:
        raise Unusable(f"The configuration cannot be read: {error.filename}: {error.strerror}.") from None
    except Exception as error:  # invalid base64, a token that is not JSON, and others
        raise Unusable(f"The configuration cannot be read ({type(error).__name__}).") from None
    pool.connection_pool_kw["ssl_context"] = context
    pool.pool_classes_by_scheme = pools
    if not configuration.verify_ssl:
        # Connecting warns once; a warning for each request is too much.
        urllib3.disable_warnings(InsecureRequestWarning)
    return configuration, pool


def authorization(configuration: Configuration) -> str:
    """Return the Authorization header, or "" if a client certificate is used. Renew a token that has expired.

    Raise Unusable if it cannot be renewed.
    """
    from kubernetes.config.config_exception import ConfigException

    try:
        setting = configuration.auth_settings().get("BearerToken")
    except (ConfigException, OSError, ValueError) as error:
        raise Unusable(f"The credentials cannot be renewed ({type(error).__name__}).") from None
    return str(setting["value"]).strip() if setting else ""


def _first_line(error: object) -> str:
    return str(error).partition("\n")[0][:200].rstrip(".") + "."
