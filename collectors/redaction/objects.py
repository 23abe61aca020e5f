"""This pure module removes from an object what must never be stored."""

import re
from copy import deepcopy
from typing import Any

import orjson

from collectors.redaction import commands, policy, text
from collectors.redaction.field_names import (
    DATA_FIELDS,
    NEVER_BY_NAME,
    SHORTEST_FORM,
    harmless_names,
    has_free_names,
    holds_secret,
    is_copy,
    is_credential,
    is_environment,
    plain_fields,
    remember,
    rename_fields,
)
from collectors.redaction.values import harmless
from timeline.core.masks import BY_NAME, COPY
from timeline.core.secret_names import Grade, grade, is_reference

_NAMING = (
    "name",
    "key",
    "k",
    "id",
    "field",
    "property",
    "header",
    "param",
    "parameter",
    "variable",
    "setting",
    "option",
    "label",
    "title",
    "type",
    "parameterKey",
    "ParameterKey",
    "ParameterName",
    "headerName",
)
_VALUING = (
    "value",
    "values",
    "v",
    "val",
    "data",
    "content",
    "default",
    "defaultValue",
    "string",
    "stringValue",
    "text",
    "parameterValue",
    "ParameterValue",
    "headerValue",
)
NAMING, _VALUES = frozenset(_NAMING), frozenset(_VALUING)
_SECRET_METADATA = frozenset({"apiVersion", "kind", "metadata", "type", "immutable"})  # what of a Secret is none
_FLAGS = ("sensitive", "secret", "isSecret", "secure", "masked")  # of a parameter: its value is a credential
_TERRAFORM_SECRETS = re.compile(r"password|secret|token|private_key")  # of resources of Terraform
_TIME = re.compile(r"\d{4}-\d\d-\d\dT[\d:.]+Z")
_SHORT = 200  # characters of a text that is worth being remembered
_MAX_DEPTH = 6  # JSON in JSON in JSON is not looked into further, and then goes as a whole
_harmless_texts: set[str] = set()  # short texts that were scanned
_LITERAL = re.compile(r'"(?>(?:[^"\\]|\\.)*)"')
_token = re.compile(r"[A-Za-z0-9_./+=~-]{14}")


def forget() -> None:
    """What was found harmless may not be so by other patterns."""
    for known in (_harmless_texts, plain_fields, harmless_names):
        known.clear()


def redact(body: Any, kind: str = "") -> Any:
    """A copy without the data of Secrets, environment values, copies of whole objects, and credentials."""
    return redact_in_place(deepcopy(body), kind)


def redact_in_place(body: Any, kind: str = "") -> Any:
    """The body, which is changed in place: most of it stays as it is, and copying all takes longer than looking."""
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
    """A value, which is changed in place where it holds others. `under`: the field that it stands in."""
    if isinstance(value, str):
        return clean_text(value, depth)
    if isinstance(value, dict):
        clean_fields(value, parent, depth)
    elif isinstance(value, list):
        _clean_list(value, parent, depth)
    return value


def _clean_secret(body: dict[str, Any]) -> None:
    for key, value in body.items():
        body[key] = _cleaned(value, key) if key in _SECRET_METADATA else _masked(value)
    metadata = body.get("metadata")
    if isinstance(metadata, dict) and "annotations" in metadata:
        metadata["annotations"] = _masked(metadata["annotations"])  # deployers keep copies of the whole there


def _masked(value: Any) -> Any:
    return dict.fromkeys(map(clean_text, value), BY_NAME) if isinstance(value, dict) else BY_NAME


def clean_fields(body: dict[str, Any], parent: str, depth: int = 0) -> None:
    if body.get("kind") == "Secret" and ("data" in body or "stringData" in body):
        _clean_secret(body)
        return
    free_names = has_free_names(parent)
    renamed = False
    for key, value in body.items():
        if key in plain_fields and not free_names:
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
    if not _VALUES.isdisjoint(body):
        _clean_pair(body)
        if "value" in body and any(body.get(each) is True for each in _FLAGS):
            body["value"] = BY_NAME
    elif "instances" in body and _TERRAFORM_SECRETS.search(str(body.get("type"))):
        _clean_state(body["instances"])
    if renamed:
        rename_fields(body)


def _clean_field(key: str, value: Any, parent: str, depth: int) -> Any:
    """The value of a field whose name may say what it is."""
    if value is None or isinstance(value, bool):
        return value
    if key in DATA_FIELDS:
        return _masked(value)
    if isinstance(value, str):
        if holds_secret(key, parent):
            return value if harmless(value) else BY_NAME
        return COPY if parent == "annotations" and is_copy(key, value) else clean_text(value, depth)
    sensitivity = Grade.PLAIN if parent in NEVER_BY_NAME else grade(key)
    if isinstance(value, dict):
        mask_under(value, depth) if sensitivity == Grade.WHOLE and not has_free_names(parent) else clean_fields(
            value, key, depth
        )
    elif isinstance(value, list):
        if key == "managedFields":
            clean_managed(value)
        else:
            _mask_list(value, sensitivity, key, depth) if sensitivity else _clean_list(value, key, depth)
    elif holds_secret(key, parent):
        return BY_NAME
    return value


def mask_under(body: dict[str, Any], depth: int = 0) -> None:
    """What stands under the name of a credential goes, but for what only names or describes it."""
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
    """A list under the name of a credential: `passwords: [x]`. Maps in it may only refer: `imagePullSecrets`."""
    for at, value in enumerate(values):
        if isinstance(value, dict):
            mask_under(value, depth) if kind == Grade.WHOLE else clean_fields(value, parent, depth)
        elif isinstance(value, list):
            _mask_list(value, kind, parent, depth)
        elif value is not None and not isinstance(value, bool) and not (isinstance(value, str) and harmless(value)):
            values[at] = clean_text(value, depth) if isinstance(value, str) and is_reference(parent) else BY_NAME


def _clean_pair(body: dict[str, Any]) -> None:
    """`name: password, value: x`, in whatever order and words, as headers, variables and parameters are told."""
    for naming in _NAMING:
        if isinstance(name := body.get(naming), str) and len(body) > 1 and grade(name):
            for valuing in _VALUING:
                cleaned = body.get(valuing)
                if isinstance(cleaned, dict):
                    mask_under(cleaned)
                elif isinstance(cleaned, list):
                    _mask_list(cleaned, Grade.WHOLE, valuing, 0)
                elif cleaned is not None and not isinstance(cleaned, bool) and not harmless(str(cleaned)):
                    body[valuing] = BY_NAME


def _clean_state(instances: Any) -> None:
    """What Terraform remembers of a resource that is a credential."""
    for each in instances if isinstance(instances, list) else ():
        if isinstance(each, dict) and isinstance(cleaned := each.get("attributes"), dict):
            each["attributes"] = _masked(cleaned)


def _clean_list(values: list[Any], parent: str, depth: int = 0) -> None:
    if is_environment(parent):
        for at, value in enumerate(values):
            values[at] = _assignment(value) if isinstance(value, str) else _cleaned(value, parent, depth)
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
    """managedFields name fields; in those of sets and keyed lists there are values: `v:"x"`, `k:{"a":"x"}`."""
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
        if name not in harmless_names:
            clean = _name_of_managed(name, parent)
            if clean != name:
                changed[name] = clean
            elif name[0:2] != "v:" and len(name) <= _SHORT:
                remember(harmless_names, name)
        if isinstance(value, dict) and value:
            _clean_names(value, name.removeprefix("f:"))
    if changed:
        cleaned = {changed.get(name, name): value for name, value in fields.items()}
        fields.clear()
        fields.update(cleaned)


def _name_of_managed(name: str, parent: str) -> str:
    """`f:field`, `k:{"field":"value"}` or `v:"value"`; `under`: the field that it stands in."""
    if name.startswith("v:") and grade(parent):
        return f"v:{BY_NAME}"
    if not name.startswith(("v:", "k:")):
        return text.without_known_forms(name)
    try:
        cleaned = orjson.loads(name[2:])
    except ValueError:
        return name[:2] + clean_text(name[2:])
    before = orjson.dumps(cleaned)
    after = orjson.dumps(_cleaned([cleaned], ""))[1:-1]
    return name if before == after else name[:2] + after.decode()


def clean_text(raw: str, depth: int = 0) -> str:
    """Free text without credentials; the very same where it holds none."""
    if raw in _harmless_texts or _cannot_hold_credential(raw):
        return raw
    clean = raw
    if raw[:1] in '{["' or raw[:1].isspace():
        clean = _clean_json(raw, depth)
    if "\\" in clean and '"' in clean:
        clean = _LITERAL.sub(lambda match: _clean_literal(match[0], depth), clean)
    clean = text.clean(clean)
    if clean != raw:
        return clean
    if len(raw) <= _SHORT:
        remember(_harmless_texts, raw)
    return raw


def _clean_literal(quoted: str, depth: int) -> str:
    """A text in quotes within another, with what is escaped in it."""
    if "\\" not in quoted:
        return quoted
    try:
        cleaned = orjson.loads(quoted)
    except ValueError:
        return quoted
    if depth >= _MAX_DEPTH:
        return quoted
    clean = clean_text(cleaned, depth + 1)
    return quoted if clean == cleaned else orjson.dumps(clean).decode()


def _cannot_hold_credential(raw: str) -> bool:
    """Whether text lacks what all credentials are found by: a separator, or a length; or is a time."""
    if " " in raw or "=" in raw or ">" in raw or "&" in raw or not raw.isprintable():
        return False
    if ":" in raw or "%" in raw or "(" in raw or "@" in raw:
        return raw[-1] == "Z" and _TIME.fullmatch(raw) is not None
    return len(raw) < SHORTEST_FORM or _token.search(raw) is None


def _clean_json(raw: str, depth: int) -> str:
    """A text that is JSON is looked into like the object that it is of."""
    begins = raw.lstrip()[:1]
    if begins not in ("{", "[", '"'):
        return raw
    try:
        inner = orjson.loads(raw)
    except (ValueError, RecursionError):
        return raw
    if not isinstance(inner, dict | list | str) or (isinstance(inner, str) and not raw.strip().endswith('"')):
        return raw
    if depth >= _MAX_DEPTH:
        return BY_NAME
    before = orjson.dumps(inner)
    try:
        inner = clean_text(inner, depth + 1) if isinstance(inner, str) else _clean_json_value(inner, depth + 1)
        after = orjson.dumps(inner)
        if before == after:
            return raw
        return orjson.dumps(inner, option=orjson.OPT_INDENT_2 if "\n" in raw.strip() else 0).decode()
    except (ValueError, RecursionError):
        return BY_NAME


def _clean_json_value(inner: Any, depth: int) -> Any:
    if isinstance(inner, dict) and inner.get("kind") in ("Secret", "SecretList"):
        return redact_in_place(inner)
    return _cleaned(inner, "", depth)


policy.on_policy_change(forget)
