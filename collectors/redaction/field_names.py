"""Decide by the name of a field whether its value is a credential, or a copy of a whole object. It does no I/O."""

import re
from typing import Any

import orjson

from collectors.redaction import text
from collectors.redaction.roles import is_data, is_environment, valuing
from timeline.core.secret_names import LONGEST_NAME, Grade, grade, remembered, word_set

_COPIES = re.compile(  # annotations in which tools store a whole object
    r"(?i)(?:^|[/.])(?:last-?applied(?:-configuration)?|kapp\.k14s\.io/original(?:-diff.*)?|objectset\.rio\.cattle\.io/applied"
    r"|original-?(?:object|spec|manifest)|last-?configuration|rendered-?(?:object|manifest))$|kapp\.k14s\.io/original"
)
COPY_LETTERS = word_set(  # in each name that _COPIES matches, if everything but its letters is left out
    "lastapplied kappksiooriginal objectsetriocattleioapplied originalobject originalspec originalmanifest "
    "lastconfiguration renderedobject renderedmanifest"
)
_OBJECT_FIELDS = frozenset(
    {"apiVersion", "spec", "data", "stringData", "template", "metadata"}
)  # fields that show that a value is a whole object
_FREE_NAMES = frozenset(
    {"annotations", "data", "labels", "matchLabels", "nodeSelector"}
)  # maps whose keys users choose
NEVER_BY_NAME = frozenset(
    {"labels", "matchLabels", "nodeSelector", "stringMatch", "hard", "used"}
)  # maps that select, whose values are public anyway, or that count
REMEMBERED = 20_000  # names in each cache
SHORTEST_FORM = 14  # characters; no credential that is recognised by its form is shorter
harmless_names: set[str] = set()  # names that are not credentials themselves
plain_fields: set[str] = set()  # names that make no value a credential, neither that of the field nor one beside it


def is_credential(key: str) -> bool:
    """Return whether the name of a field is itself a credential, by its form."""
    if key in harmless_names:
        return False
    if len(key) >= SHORTEST_FORM and text.without_known_forms(key) != key:
        return True
    if not grade(key) and not is_data(key) and key != "managedFields" and valuing(key) is None:
        remember(plain_fields, key)
    remember(harmless_names, key)
    return False


def rename_fields(body: dict[str, Any]) -> None:
    """Mask the names of fields that are credentials by their form."""
    cleaned = {text.without_known_forms(key): value for key, value in body.items()}
    body.clear()
    body.update(cleaned)


def is_copy(key: str, value: str) -> bool:
    """Return whether an annotation holds a whole object."""
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
    """Return whether the text in a field is a credential, by the names of the field and of its parent."""
    if key != "name" and is_environment(parent):
        return True
    if parent in NEVER_BY_NAME:
        return False
    return grade(key) != Grade.PLAIN


def remember(known: set[str], item: str) -> None:
    """Add an item to a cache, which is emptied when it is full."""
    if len(known) == REMEMBERED:
        known.clear()
    if len(item) <= LONGEST_NAME:
        known.add(item)


@remembered
def has_free_names(field: str) -> bool:
    """Return whether users choose the names of the fields in this one."""
    return field in _FREE_NAMES or is_environment(field)
