"""Remove from an object what must never be stored. It does no I/O."""

import re
from copy import deepcopy
from typing import Any

import orjson

from collectors.redaction import commands, policy, text
from collectors.redaction.budget import LONGEST, Budget, OutOfTime, spend
from collectors.redaction.field_names import (
    NEVER_BY_NAME,
    SHORTEST_FORM,
    harmless_names,
    has_free_names,
    holds_secret,
    is_copy,
    is_credential,
    plain_fields,
    remember,
    rename_fields,
)
from collectors.redaction.roles import (
    PARENTS,
    WITH_CONTEXT,
    is_data,
    is_environment,
    is_flag,
    is_pair,
    is_secret_within,
    mask_context,
    mask_texts,
    may_hold_more,
    naming,
    valuing,
)
from collectors.redaction.values import harmless
from timeline.core.masks import BY_NAME, COPY, UNSEARCHED
from timeline.core.secret_names import Grade, grade, is_reference, letters

# Fields of a Secret that are not secret.
_SECRET_METADATA = frozenset({"apiVersion", "kind", "metadata", "type", "immutable"})
_TERRAFORM_SECRETS = re.compile(r"password|secret|token|private_key")  # types of Terraform resources
_TRUE = (True, "true", "True")
_OF_NAMES = ("names", "keys", "fields", "properties", "labels", "ids")  # how fields end that hold lists of names
_TIME = re.compile(r"\d{4}-\d\d-\d\dT[\d:.]+Z")
_SHORT = 200  # characters; longer texts are not cached
_MAX_DEPTH = 6  # levels of JSON inside strings of JSON; a deeper one is masked whole
_harmless_texts: set[str] = set()  # short texts without credentials
_harmless_managed: set[str] = set()  # names in managedFields without credentials
# A text in quotes, its closing quote if there is one, and what shows that it is the name of a field in JSON. A text
# that is not closed is matched to its end, so that no quote in it is tried once more: an escaped one ends with it.
_LITERAL = re.compile(r'"[^"\\]*+(?:\\.[^"\\]*+)*+("?)(?=(\s*+:)?)')
_NAME = re.compile(r"[\w./+~,*$-]*+", re.ASCII)  # without the separators by which values after names are found
_token = re.compile(r"[A-Za-z0-9_./+=~-]{14}")


def forget() -> None:
    """Clear the caches, which were filled with other patterns."""
    for known in (_harmless_texts, _harmless_managed, plain_fields, harmless_names):
        known.clear()


def redact(body: Any, kind: str = "") -> Any:
    """Return a copy without the data of Secrets, environment values, copies of whole objects, and credentials."""
    return redact_in_place(deepcopy(body), kind)


def redact_in_place(body: Any, kind: str = "") -> Any:
    """Redact the object in place and return it: copying takes longer than the search itself."""
    if isinstance(body, dict):
        if "Secret" in (kind, body.get("kind")):
            _clean_secret(body)
            return body
        if body.get("kind") == "SecretList" and isinstance(items := body.get("items"), list):
            body["items"] = []
            clean_fields(body, "")
            body["items"] = [redact_in_place(item, "Secret") for item in items]
            return body
    return _cleaned(body, "")


def _cleaned(value: Any, parent: str, depth: int = 0) -> Any:
    """Return a value without credentials; a dict or list is changed in place. `parent` is the field that holds it."""
    if isinstance(value, str):
        return clean_text(value, depth)
    if isinstance(value, dict):
        clean_fields(value, parent, depth)
    elif isinstance(value, list):
        _clean_list(value, parent, depth)
    return value


def _clean_secret(body: dict[str, Any]) -> None:
    """Mask in place everything in a Secret except its type and metadata."""
    for key, value in body.items():
        body[key] = _cleaned(value, key) if key in _SECRET_METADATA else _masked(value)
    metadata = body.get("metadata")
    if isinstance(metadata, dict) and "annotations" in metadata:
        metadata["annotations"] = _masked(metadata["annotations"])  # tools store copies of the whole Secret there


def _masked(value: Any) -> Any:
    """Return the mask, or a dict with the same keys and masked values."""
    return dict.fromkeys(map(clean_text, value), BY_NAME) if isinstance(value, dict) else BY_NAME


def clean_fields(body: dict[str, Any], parent: str, depth: int = 0) -> None:
    """Redact the fields of an object in place. `parent` is the field that holds it, `depth` the levels of JSON text."""
    if body.get("kind") == "Secret" and ("data" in body or "stringData" in body):
        _clean_secret(body)
        return
    by_place = has_free_names(parent) or parent in PARENTS
    renamed = False
    for key, value in body.items():
        if key in plain_fields and not by_place:
            if isinstance(value, str):
                if value not in _harmless_texts and (cleaned := clean_text(value, depth)) is not value:
                    body[key] = cleaned
            elif isinstance(value, dict):
                clean_fields(value, key, depth)
            elif isinstance(value, list):
                _clean_list(value, key, depth)
            continue
        cleaned = _clean_field(key, value, parent, depth)
        if cleaned is not value:
            body[key] = cleaned
        renamed = is_credential(key) or renamed
    if values := [key for key in body if key not in plain_fields and valuing(key) is not None]:
        _clean_pairs(body, values)
    for known in WITH_CONTEXT.intersection(body):
        mask_context(body, known)
    if "instances" in body and _TERRAFORM_SECRETS.search(str(body.get("type"))):
        _clean_state(body["instances"])
    if renamed:
        rename_fields(body)


def _clean_field(key: str, value: Any, parent: str, depth: int) -> Any:
    """Return the redacted value of a field whose name may say that it is a credential."""
    if value is None or isinstance(value, bool):
        return value
    if is_data(key):
        return _masked(value)
    if isinstance(value, str):
        if holds_secret(key, parent) or is_secret_within(key, parent):
            return value if harmless(value) else BY_NAME
        return COPY if parent == "annotations" and is_copy(key, value) else clean_text(value, depth)
    sensitivity = Grade.PLAIN if parent in NEVER_BY_NAME else grade(key)
    if isinstance(value, dict):
        if sensitivity == Grade.WHOLE and not has_free_names(parent):
            mask_under(value, depth)
        else:
            clean_fields(value, key, depth)
            if sensitivity and may_hold_more(key):
                mask_texts(value)
    elif isinstance(value, list):
        if key == "managedFields":
            clean_managed(value)
        else:
            _mask_list(value, sensitivity, key, depth) if sensitivity else _clean_list(value, key, depth)
    elif holds_secret(key, parent):
        return BY_NAME
    return value


def mask_under(body: dict[str, Any], depth: int = 0) -> None:
    """Mask in place everything in a field that has the name of a credential, except names and references."""
    describes = "name" in body or "path" in body or "property" in body
    for key, value in body.items():
        if isinstance(value, dict):
            clean_fields(value, key, depth) if is_reference(key) and not grade(key) else mask_under(value, depth)
        elif isinstance(value, list):
            _mask_list(value, Grade.WHOLE, key, depth)
        elif value is None or isinstance(value, bool):
            continue
        elif is_reference(key) and (key != "key" or describes or "value" in body):
            if isinstance(value, str):
                body[key] = clean_text(value, depth)
        elif not isinstance(value, str) or not harmless(value):
            body[key] = BY_NAME
    if any(map(is_credential, body)):
        rename_fields(body)


def _mask_list(values: list[Any], kind: Grade, parent: str, depth: int) -> None:
    """Mask in place a list under the name of a credential, such as `passwords: [x]`.

    Maps in such a list may be references, as in `imagePullSecrets`.
    """
    for at, value in enumerate(values):
        if isinstance(value, dict):
            mask_under(value, depth) if kind == Grade.WHOLE else clean_fields(value, parent, depth)
        elif isinstance(value, list):
            _mask_list(value, kind, parent, depth)
        elif value is not None and not isinstance(value, bool) and not (isinstance(value, str) and harmless(value)):
            values[at] = clean_text(value, depth) if isinstance(value, str) and is_reference(parent) else BY_NAME


def _clean_pairs(body: dict[str, Any], values: list[str]) -> None:
    """Mask the value in `name: password, value: x`, in any order and with any of the usual words for both.

    `values` are the fields that may be values of others.
    """
    for key, name in body.items():
        if isinstance(name, str) and (of := naming(key)) is not None and grade(name):
            for each in values:
                by = valuing(each)
                if by == of or not by or not of:
                    _mask_value(body, each)
        elif name in _TRUE and is_flag(key):
            for each in values:
                _mask_value(body, each)


def _mask_value(body: dict[str, Any], key: str) -> None:
    """Mask in place the value in a pair of a name and a value."""
    value = body[key]
    if isinstance(value, dict):
        mask_under(value)
    elif isinstance(value, list):
        _mask_list(value, Grade.WHOLE, key, 0)
    elif value is not None and not isinstance(value, bool) and not harmless(str(value)):
        body[key] = BY_NAME


def _clean_state(instances: Any) -> None:
    """Mask the attributes of a Terraform resource that is a credential."""
    for each in instances if isinstance(instances, list) else ():
        if isinstance(each, dict) and isinstance(attributes := each.get("attributes"), dict):
            each["attributes"] = _masked(attributes)


def _clean_list(values: list[Any], parent: str, depth: int = 0) -> None:
    """Clean a list in place: an environment, arguments of a command, or any other."""
    if is_environment(parent):
        for at, value in enumerate(values):
            values[at] = _assignment(value) if isinstance(value, str) else _cleaned(value, parent, depth)
        return
    if len(values) == 2 and is_pair(*values) and not letters(parent).endswith(_OF_NAMES):
        values[1] = BY_NAME
        return
    if commands.may_be_arguments(values):
        values[:] = [
            cleaned if found else _cleaned(cleaned, "", depth) for cleaned, found in commands.arguments(values)
        ]
        return
    for at, value in enumerate(values):
        if isinstance(value, dict):
            clean_fields(value, parent, depth)
        elif isinstance(value, list):
            _clean_list(value, parent, depth)
        elif isinstance(value, str) and value not in _harmless_texts:
            values[at] = clean_text(value, depth)


def _assignment(raw: str) -> str:
    name, equals, _ = raw.partition("=")
    return name + equals + BY_NAME if equals else clean_text(raw)


def clean_managed(entries: list[Any]) -> None:
    """Clean managedFields in place.

    They hold names of fields, and for sets and keyed lists also values: `v:"x"`, `k:{"a":"x"}`.
    """
    for at, entry in enumerate(entries):
        if isinstance(entry, dict):
            fields = entry.get("fieldsV1")
            if isinstance(fields, dict):
                del entry["fieldsV1"]
                _clean_names(fields, "")
            clean_fields(entry, "")
            if isinstance(fields, dict):
                entry["fieldsV1"] = fields
        else:
            entries[at] = _cleaned(entry, "")


def _clean_names(fields: dict[str, Any], parent: str) -> None:
    changed = {}
    for name, value in fields.items():
        if name not in _harmless_managed:
            clean = name_of_managed(name, parent)
            if clean != name:
                changed[name] = clean
            elif name[0:2] != "v:" and len(name) <= _SHORT:
                remember(_harmless_managed, name)
        if isinstance(value, dict) and value:
            _clean_names(value, name.removeprefix("f:"))
    if changed:
        cleaned = {changed.get(name, name): value for name, value in fields.items()}
        fields.clear()
        fields.update(cleaned)


def name_of_managed(name: str, parent: str) -> str:
    """Clean a name in managedFields: `f:field`, `k:{"field":"value"}` or `v:"value"`. `parent` contains it."""
    if name.startswith("v:") and grade(parent):
        return f"v:{BY_NAME}"
    if not name.startswith(("v:", "k:")):
        return text.without_known_forms(name)
    try:
        value = orjson.loads(name[2:])
    except ValueError:
        return name[:2] + clean_text(name[2:])
    try:
        before = orjson.dumps(value)
        after = orjson.dumps(_cleaned([value], ""))[1:-1]
    except (RecursionError, orjson.JSONEncodeError):
        return name[:2] + BY_NAME
    return name if before == after else name[:2] + after.decode()


def clean_text(raw: str, depth: int = 0) -> str:
    """Return free text without credentials; the same string if it holds none.

    A text is replaced whole if it is too long, or if the time of the object that holds it is over.
    """
    if raw in _harmless_texts or _cannot_hold_credential(raw):
        return raw
    if depth:
        return _searched(raw, depth)
    with Budget(len(raw)):
        try:
            return _searched(raw, depth)
        except OutOfTime:
            return UNSEARCHED


def _searched(raw: str, depth: int) -> str:
    """Return what `clean_text` does. Raise OutOfTime if that takes too long."""
    if len(raw) > LONGEST:
        raise OutOfTime
    spend(len(raw))
    json = _clean_json(raw, depth) if raw[:1] in '{["' or raw[:1].isspace() else None
    clean = raw if json is None else json
    if "\\" in clean and '"' in clean:  # of JSON, all texts but the names of fields are clean
        clean = _LITERAL.sub(
            lambda match: _clean_literal(match[0], depth) if match[1] and (json is None or match[2]) else match[0],
            clean,
        )
    clean = text.clean(clean)
    if clean != raw:
        return clean
    if len(raw) <= _SHORT:
        remember(_harmless_texts, raw)
    return raw


def _clean_literal(quoted: str, depth: int) -> str:
    """Clean a quoted text within another text, with the escapes in it decoded."""
    if "\\" not in quoted:
        return quoted
    try:
        unquoted = orjson.loads(quoted)
    except ValueError:
        return quoted
    if depth >= _MAX_DEPTH:
        return quoted
    clean = clean_text(unquoted, depth + 1)
    return quoted if clean == unquoted else orjson.dumps(clean).decode()


def _cannot_hold_credential(raw: str) -> bool:
    """Return whether a text is a timestamp, or only a name without the length by which credentials are found."""
    if _NAME.fullmatch(raw) is None:
        return raw[-1:] == "Z" and _TIME.fullmatch(raw) is not None
    return len(raw) < SHORTEST_FORM or _token.search(raw) is None


def _clean_json(raw: str, depth: int) -> str | None:
    """Return a text that is JSON with its value cleaned like an object; None if it is no JSON."""
    begins = raw.lstrip()[:1]
    if begins not in ("{", "[", '"'):
        return None
    try:
        inner = orjson.loads(raw)
    except (ValueError, RecursionError):
        return None
    if depth >= _MAX_DEPTH:
        return BY_NAME
    try:
        before = orjson.dumps(inner)
        inner = clean_text(inner, depth + 1) if isinstance(inner, str) else _clean_json_value(inner, depth + 1)
        after = orjson.dumps(inner)
        if before == after:
            return raw
        return orjson.dumps(inner, option=orjson.OPT_INDENT_2 if "\n" in raw.strip() else 0).decode()
    except (ValueError, RecursionError, orjson.JSONEncodeError):
        return BY_NAME


def _clean_json_value(inner: Any, depth: int) -> Any:
    if isinstance(inner, dict) and inner.get("kind") in ("Secret", "SecretList"):
        return redact_in_place(inner)
    return _cleaned(inner, "", depth)


policy.on_policy_change(forget)
