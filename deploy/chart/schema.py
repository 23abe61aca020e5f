"""Make the JSON Schema of the chart's values, with which helm refuses what cannot be meant."""

from collections.abc import Iterable
from typing import Any, Protocol

_STRING = {"type": "string"}
_MAP = {"type": "object", "additionalProperties": {"type": "string"}}
_OBJECTS = {"type": "array", "items": {"type": "object"}}
_NAMES = {"type": "array", "items": {"type": "string", "minLength": 1}}
_PORTS = {"type": "array", "minItems": 1, "items": {"type": "integer", "minimum": 1, "maximum": 65535}}
_HOST = r"^[a-z0-9]([a-z0-9-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)*$"
_NAMESPACE = r"^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$"
_QUANTITY = {"type": "string", "pattern": r"^[0-9]+(\.[0-9]+)?([EPTGMk]i?)?$"}
_VARIABLE = "^CAUSELINE_[A-Z0-9_]+$"
# The chart sets these by values of their own, or reads them from the Secret. Its templates refuse them elsewhere.
OWN = (
    "CAUSELINE_ADDRESS",
    "CAUSELINE_COLLECT_BUFFER_BYTES",
    "CAUSELINE_COLLECT_BUFFER_DIR",
    "CAUSELINE_COLLECT_CA_FILE",
    "CAUSELINE_COLLECT_CLUSTER",
    "CAUSELINE_COLLECT_EXCLUDE",
    "CAUSELINE_COLLECT_INCLUDE",
    "CAUSELINE_COLLECT_NAMESPACES",
    "CAUSELINE_COLLECT_TOKEN",
    "CAUSELINE_COLLECT_TOKEN_FILE",
    "CAUSELINE_COLLECT_URL",
    "CAUSELINE_CREDENTIALS_KEY",
    "CAUSELINE_DATABASE_DIRECT_URL",
    "CAUSELINE_DATA_DIR",
    "CAUSELINE_HEARTBEAT_FILE",
    "CAUSELINE_HOSTS",
    "CAUSELINE_HTTPS",
    "CAUSELINE_KUBECONFIG_DIRS",
    "CAUSELINE_LOG_FORMAT",
    "CAUSELINE_METRICS_HOST",
    "CAUSELINE_METRICS_PORT",
    "CAUSELINE_OIDC_CLIENT_ID",
    "CAUSELINE_OIDC_CLIENT_SECRET",
    "CAUSELINE_OIDC_ISSUER",
    "CAUSELINE_PROXIES",
    "CAUSELINE_SECRET_KEY",
)


def _settings(value: dict[str, Any]) -> dict[str, Any]:
    return {"type": "object", "propertyNames": {"pattern": _VARIABLE}, "additionalProperties": value}


_SETTINGS = _settings({"type": ["string", "number", "boolean"]})
# Custom resources as kubectl names them. A whole group may be named, but never the one that has Secrets.
_RESOURCES = {"type": "array", "items": {"type": "string", "pattern": r"^(\*|[a-z0-9]+)\.[a-z0-9-]+(\.[a-z0-9-]+)+$"}}
_WHOLE = {"type": "integer", "minimum": 0}
_ONE = {"type": "integer", "minimum": 1}
_NAMESPACES = {"type": "array", "uniqueItems": True, "items": {"type": "string", "pattern": _NAMESPACE}}
_URL = {"type": "string", "pattern": r"^$|^https?://"}
# By the whole path, or by the last key where it means the same everywhere.
SPECIAL: dict[str, dict[str, Any]] = {
    "image.digest": {"type": "string", "pattern": "^$|^sha256:[0-9a-f]{64}$"},
    "image.pullPolicy": {"enum": ["Always", "IfNotPresent", "Never"]},
    "data.accessMode": {"enum": ["ReadWriteMany", "ReadWriteOnce"]},
    "service.type": {"enum": ["ClusterIP", "NodePort", "LoadBalancer"]},
    "service.port": {"type": "integer", "minimum": 1, "maximum": 65535},
    "server.hosts": {"type": "array", "uniqueItems": True, "items": {"type": "string", "pattern": _HOST}},
    "server.proxies": _NAMES,
    "server.settings": _SETTINGS,
    "server.secretSettings": _settings({"type": "string", "minLength": 1}),
    "collector.settings": _SETTINGS,
    "collector.url": {"type": "string", "pattern": "^$|^https://"},
    "collector.bufferBytes": {"type": "integer", "minimum": 1048576},
    "oidc.issuer": {"type": "string", "pattern": "^$|^https://"},
    "worker.autoscaling.by": {"enum": ["", "hpa", "keda"]},
    "worker.autoscaling.cpuPercent": _WHOLE,
    "worker.autoscaling.prometheusAddress": _URL,
    "gateway.requestTimeout": {"type": "string", "pattern": "^$|^([0-9]{1,5}(h|m|s|ms)){1,4}$"},
    "metrics.serviceMonitor.interval": {"type": "string", "pattern": "^[0-9]+(ms|s|m)$"},
    "cpuPercent": {"type": "integer", "minimum": 1, "maximum": 1000},
    "resources": {
        "type": "object",
        "additionalProperties": False,
        "properties": {
            name: {"type": "object", "additionalProperties": {"type": ["string", "number"]}}
            for name in ("requests", "limits")
        },
    },
    "affinity": {"type": "object"},
    "include": _RESOURCES,
    "exclude": _NAMES,
    "namespaces": _NAMESPACES,
    "replicas": _WHOLE,
    "minReplicas": _ONE,
    "maxReplicas": _ONE,
    "concurrency": _ONE,
    "lagSeconds": _ONE,
    "waitingImports": _ONE,
    "maxUnavailable": _WHOLE,
    "terminationGracePeriodSeconds": _WHOLE,
    "activeDeadlineSeconds": _ONE,
    "size": _QUANTITY,
    "bufferSize": _QUANTITY,
    "temporarySize": _QUANTITY,
    "databasePorts": _PORTS,
    "brokerPorts": _PORTS,
    "clustersPorts": _PORTS,
    "destinationsPorts": _PORTS,
    "collectorPorts": _PORTS,
}


class Documented(Protocol):
    """A value with its path and what it means."""

    @property
    def path(self) -> str: ...

    @property
    def meaning(self) -> str: ...


def schema(defaults: dict[str, Any], values: Iterable[Documented]) -> dict[str, Any]:
    """Return the schema of values whose defaults are these. No key is allowed that has no default."""
    meanings = {each.path: each.meaning for each in values}
    made = _object(defaults, (), meanings)
    made["properties"]["global"] = {"type": "object", "description": "Given by Helm to charts within charts; unused."}
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "The values of Causeline", **made}


def _object(node: dict[str, Any], above: tuple[str, ...], meanings: dict[str, str]) -> dict[str, Any]:
    properties = {}
    for key, default in node.items():
        path = ".".join((*above, key))
        if meaning := meanings.get(path):
            special = SPECIAL.get(path) or SPECIAL.get(key) or _of(default)
            properties[key] = {"description": meaning, **special}
        else:
            properties[key] = _object(default, (*above, key), meanings)
    return {"type": "object", "additionalProperties": False, "properties": properties}


def _of(default: object) -> dict[str, Any]:
    """Return the schema of a value by its default. A list is of objects, and an object of texts."""
    match default:
        case bool():
            return {"type": "boolean"}
        case int():
            return {"type": "integer"}
        case str():
            return _STRING
        case list():
            return _OBJECTS
        case dict():
            return _MAP
    raise TypeError(f"no schema for {default!r}")
