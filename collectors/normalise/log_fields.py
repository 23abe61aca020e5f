"""Read the fields of a line of a log that is an object of JSON. It does no I/O."""

import re
from collections.abc import Callable, Iterable, Iterator
from typing import Any, TypeVar

import orjson

_T = TypeVar("_T")
# The objects in a line whose fields count, too.
_OBJECTS = ("log", "jsonpayload", "properties", "kubernetes", "resource", "resource.labels", "labels")
_CONTAINERS = (  # where log shippers and stern write which container a line is of
    ("kubernetes.namespace_name", "kubernetes.pod_name", "kubernetes.container_name"),
    ("kubernetes.pod_namespace", "kubernetes.pod_name", "kubernetes.container_name"),
    ("resource.labels.namespace_name", "resource.labels.pod_name", "resource.labels.container_name"),
    ("labels.namespace", "labels.pod", "labels.container"),
    ("namespace", "podname", "containername"),
)
_CONTAINER = re.compile(r"[a-z0-9-]{1,63}/[a-z0-9.-]{1,253}/[a-z0-9-]{1,63}")
_PROGRAM_OF = re.compile(r"[\w.-]{1,253}/[\w./@()-]{1,64}")


class Fields:
    """Find the fields of a line of JSON by their names in lower case. A field within an object has a dot before its
    name."""

    def __init__(self, fields: dict[str, Any]) -> None:
        document = fields.get("_source")  # of Elasticsearch
        self._fields: dict[str, Any] = document if isinstance(document, dict) else fields
        self._found = {key.lower(): value for key, value in self._fields.items()}
        for outer in _OBJECTS:
            if isinstance(inner := self._found.get(outer), dict):
                self._found |= {f"{outer}.{key}": value for key, value in inner.items()}
        self._used: set[str] = set()  # the names of fields that were read

    def __contains__(self, key: str) -> bool:
        return key in self._found

    def only(self, keys: set[str]) -> bool:
        """Return whether there are no other fields."""
        return self._found.keys() <= keys

    def first(self, keys: Iterable[str], read: Callable[[Any], _T | None]) -> _T | None:
        """Return what the first of these fields holds that can be read."""
        for key in keys:
            if (value := self._found.get(key)) is not None and (found := read(value)):
                self._used.add(key)
                return found
        return None

    def rest(self) -> dict[str, Any]:
        """Return the fields that were not read."""
        return {name: value for name, value in self._fields.items() if name.lower() not in self._used}

    def origin(self) -> str:
        """Return who wrote the line, as `LogText` has it."""
        for keys in _CONTAINERS:
            names = [self._found.get(key) for key in keys]
            if all(isinstance(each, str) for each in names) and _CONTAINER.fullmatch(
                origin := "/".join(map(str, names))
            ):
                return origin
        origin = f"{self._found.get('_hostname')}/{self._found.get('syslog_identifier')}"
        return origin if "syslog_identifier" in self._found and _PROGRAM_OF.fullmatch(origin) else ""


def text_in(value: object) -> str | None:
    """Return the text in a field; journalctl writes one that is no UTF-8 as a list of bytes."""
    if isinstance(value, list) and all(isinstance(each, int) and 0 <= each < 256 for each in value):
        return bytes(value).decode("utf-8", "replace")
    return value if isinstance(value, str) else None


def decoded(line: str) -> dict[str, Any]:
    """Return the fields of a line; none if it is no object of JSON."""
    try:
        fields = orjson.loads(line)
    except (ValueError, RecursionError):
        return {}
    return fields if isinstance(fields, dict) else {}


def pairs_of(fields: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    """Yield the fields beside the text. Of objects in them, only a name and a namespace are read."""
    for key, value in fields.items():
        if isinstance(value, dict):
            name, namespace = value.get("name"), value.get("namespace")
            if isinstance(name, str):
                yield key, f"{namespace}/{name}" if isinstance(namespace, str) and namespace else name
        elif not isinstance(value, list) and value is not None:
            yield key, value
