"""This pure module decides by the name of a field whether its value is a credential, or a copy of a whole object."""

import re
from functools import lru_cache
from typing import Any

import orjson

from collectors.redaction import text
from timeline.core.secret_names import Grade, grade

_COPIES = re.compile(  # annotations in which tools keep a whole object
    r"(?i)(?:^|[/.])(?:last-?applied(?:-configuration)?|kapp\.k14s\.io/original(?:-diff.*)?|objectset\.rio\.cattle\.io/applied"
    r"|original-?(?:object|spec|manifest)|last-?configuration|rendered-?(?:object|manifest))$|kapp\.k14s\.io/original"
)
_OBJECT_FIELDS = frozenset(
    {"apiVersion", "spec", "data", "stringData", "template", "metadata"}
)  # fields by which a copy is known
_ENVIRONMENT = re.compile(r"(?i)(?:.*[a-z0-9])?env(?:s|[-_]?vars?|ironment(?:[-_]?variables?)?)?$")  # env, extraEnvVars
_FREE_NAMES = frozenset(
    {"annotations", "data", "labels", "matchLabels", "nodeSelector"}
)  # whose fields anybody may name
NEVER_BY_NAME = frozenset(
    {"labels", "matchLabels", "nodeSelector", "stringMatch", "hard", "used"}
)  # that select, and so are seen anyway, or count
DATA_FIELDS = frozenset({"stringData", "binaryData"})  # of Secrets and ConfigMaps, whatever they stand in
REMEMBERED = 20_000
SHORTEST_FORM = 14  # no credential that is known by its form is shorter
harmless_names: set[str] = set()  # names that are no credentials themselves
plain_fields: set[str] = set()  # names of fields under which texts are no credentials


def is_credential(key: str) -> bool:
    """Whether the name of a field is itself a credential, by its form."""
    if key in harmless_names:
        return False
    if len(key) >= SHORTEST_FORM and text.without_known_forms(key) != key:
        return True
    if not grade(key) and key not in DATA_FIELDS and key != "managedFields":
        remember(plain_fields, key)
    remember(harmless_names, key)
    return False


def rename_fields(body: dict[str, Any]) -> None:
    """Names of fields that are credentials by their form."""
    cleaned = {text.without_known_forms(key): value for key, value in body.items()}
    body.clear()
    body.update(cleaned)


def is_copy(key: str, value: str) -> bool:
    """Whether an annotation holds a whole object."""
    if _COPIES.search(key):
        return True
    if value[:1] != "{" or '"' not in value:
        return False
    try:
        decoded = orjson.loads(value)
    except ValueError:
        return False
    return len(_OBJECT_FIELDS & decoded.keys()) > 1


def holds_secret(key: str, parent: str) -> bool:
    """Whether text in a field is one, by the names of the field and of that which it stands in."""
    if key != "name" and is_environment(parent):
        return True
    if parent in NEVER_BY_NAME:
        return False
    return grade(key) != Grade.PLAIN


def remember(known: set[str], cleaned: str) -> None:
    if len(known) == REMEMBERED:
        known.clear()
    known.add(cleaned)


@lru_cache(REMEMBERED)
def is_environment(field: str) -> bool:
    return _ENVIRONMENT.match(field) is not None


@lru_cache(REMEMBERED)
def has_free_names(field: str) -> bool:
    """Whether anybody may name the fields that stand in this one."""
    return field in _FREE_NAMES or is_environment(field)
