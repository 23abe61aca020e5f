"""Pure: what must never be stored is taken out of an object before anything else sees it."""

import re
from copy import deepcopy
from functools import lru_cache
from typing import Any

MASK = "[redacted]"
_LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"
_WORD = (
    "passw(?:or)?d|passphrase|pwd|secret|token|credentials?|authorization|cookie|signature|dockerconfigjson"
    "|api[-_.]?key|access[-_.]?key|private[-_.]?key|secret[-_.]?key|client[-_.]?key(?:[-_.]?data)?|ca[-_.]?bundle"
)
_CREDENTIAL = re.compile(rf"(?i){_WORD}")  # somewhere in a name
_CREDENTIAL_FIELD = re.compile(rf"(?i)({_WORD})$")  # a field that holds one; secretName holds a name
_ENVIRONMENT = re.compile(r"(?i)(?:.*[a-z0-9])?env(?:s|[-_]?vars?|ironment(?:[-_]?variables?)?)?$")  # env, extraEnvVars
_OBJECT = r"""(?:secret|configmap|object|persistentvolumeclaim)[ ]\\?["']"""  # what the kubelet says is not found
_VALUE = r"""(\\"(?:[^"\\]|\\[^"])*\\?"|"(?:[^"\\]|\\.)*"|'[^']*'|\\?["']?(?:bearer\s+|basic\s+)?[^\s"'&;]+)"""
_REST = r"[\w.-]{0,100}"
# PASSWORD=x, "password": "x", password: x, --db-token=x, --db-token x, Authorization: Basic x
_OPTION = rf"(?<![\w.-])--?{_REST}(?:{_WORD}){_REST}[ \t]+(?!-)"
_NAMED = re.compile(rf"""(?i)((?:{_WORD}){_REST}\\?["']?[ \t]*[:=][ \t]*|{_OPTION})(?!{_OBJECT}){_VALUE}""")
_AUTH = re.compile(r"""(?i)(\\?["']auth\\?["'][ \t]*:[ \t]*)(\\?["'])[\w+/=-]+""")  # of a registry
_BEARER = re.compile(r"(?i)(bearer\s+)[\w.~+/-]+=*")
_USER_OF_URL = re.compile(r"""(://)[^\s/"']+@(?!sha256:)""")
_JSON_WEB_TOKEN = re.compile(r"(?<![\w-])eyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]*")
_PRIVATE_KEY = re.compile(r"(-----BEGIN [A-Z ]*PRIVATE KEY-----).*?(-----END|\Z)", re.DOTALL)


_TIME = re.compile(r"\d{4}-\d\d-\d\dT[\d:.]+Z")
_SHORT = 200  # letters
_MANY = 20_000
_SPECIAL = frozenset({"annotations", "data", "labels", "matchLabels"})  # whose fields anybody may name
_harmless: set[str] = set()  # short texts that were scanned
_plain: set[str] = set()  # names of fields that stand elsewhere and hold no secret


def redact(body: Any, kind: str = "") -> Any:
    """A copy without Secret data, environment values, the last-applied annotation and credentials in free text."""
    return redact_here(deepcopy(body), kind)


def redact_here(body: Any, kind: str = "") -> Any:
    """The body, which is changed in place: most of it stays as it is, and copying all takes longer than looking."""
    if isinstance(body, dict):
        if "Secret" in (kind, body.get("kind")):
            _clean_secret(body)
            return body
        if body.get("kind") == "SecretList" and isinstance(items := body.get("items"), list):
            body["items"] = []
            clean_fields(body, "")
            body["items"] = [redact_here(item, "Secret") for item in items]
            return body
    return _cleaned(body, "")


def _cleaned(value: Any, under: str) -> Any:
    """A value, which is changed in place where it holds others. `under`: the field that it stands in."""
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, dict):
        clean_fields(value, under)
    elif isinstance(value, list):
        _clean_list(value, under)
    return value


def _clean_secret(body: dict[str, Any]) -> None:
    for key, value in body.items():
        body[key] = _masked(value) if key in ("data", "stringData") else _cleaned(value, key)
    metadata = body.get("metadata")
    if isinstance(metadata, dict) and "annotations" in metadata:
        metadata["annotations"] = _masked(metadata["annotations"])  # deployers keep copies of the whole there


def _masked(value: Any) -> Any:
    return dict.fromkeys(value, MASK) if isinstance(value, dict) else MASK


def clean_fields(body: dict[str, Any], under: str) -> None:
    if under == "managedFields":
        return
    if body.get("kind") == "Secret" and ("data" in body or "stringData" in body):
        _clean_secret(body)
        return
    body.pop(_LAST_APPLIED, None)
    special = under in _SPECIAL or _is_environment(under)
    for key, value in body.items():
        if isinstance(value, str):
            if (special or key not in _plain) and _holds_secret(key, under):
                body[key] = MASK
            elif not value.isalnum() and (text := _text(value)) is not value:
                body[key] = text
        elif isinstance(value, dict):
            if key == "stringData":
                body[key] = _masked(value)
            else:
                clean_fields(value, key)
        elif key == "stringData":
            body[key] = MASK
        elif isinstance(value, list):
            _clean_list(value, key)
    if "value" in body and isinstance(name := body.get("name"), str) and _names_credential(name):
        body["value"] = MASK  # a header of a probe


def _holds_secret(key: str, under: str) -> bool:
    """Whether text in a field is one, by the names of the field and of that which it stands in."""
    if (
        (key != "name" and _is_environment(under))
        or (under in ("annotations", "data") and _names_credential(key))
        or (under not in ("labels", "matchLabels") and _is_credential(key))
        or key == "stringData"
    ):
        return True
    if under not in _SPECIAL and not _is_environment(under):
        _remember(_plain, key)
    return False


def _remember(known: set[str], text: str) -> None:
    if len(known) == _MANY:
        known.clear()
    known.add(text)


def _clean_list(values: list[Any], under: str) -> None:
    if under in ("args", "command"):
        values[:] = _arguments(values)
        return
    of_text = _assignment if _is_environment(under) else _text
    for at, value in enumerate(values):
        if isinstance(value, dict):
            clean_fields(value, under)
        elif isinstance(value, list):
            _clean_list(value, under)
        elif isinstance(value, str):
            values[at] = of_text(value)


@lru_cache(10_000)
def _names_credential(name: str) -> bool:
    return bool(_CREDENTIAL.search(name))


@lru_cache(10_000)
def _is_credential(field: str) -> bool:
    return bool(_CREDENTIAL_FIELD.search(field))


@lru_cache(10_000)
def _is_environment(field: str) -> bool:
    return bool(_ENVIRONMENT.match(field))


def _arguments(words: list[Any]) -> list[Any]:
    """A credential may stand in the word behind its option."""
    clean, secret_next = [], False
    for word in words:
        if not isinstance(word, str):
            clean.append(_cleaned(word, ""))
            continue
        option, equals, _ = word.partition("=")
        names_one = _names_credential(option) and not any(letter.isspace() for letter in option)
        if secret_next and not word.startswith("-"):
            clean.append(MASK)
        else:
            clean.append(f"{option}={MASK}" if equals and names_one else _text(word))
        secret_next = word.startswith("-") and not equals and names_one
    return clean


def _assignment(text: str) -> str:
    name, equals, _ = text.partition("=")
    return name + equals + MASK if equals else _text(text)


def _text(text: str) -> str:
    """Free text without credentials."""
    if _cannot_tell(text) or text in _harmless:
        return text
    clean = _scanned(text)
    if clean == text and len(text) <= _SHORT:
        _remember(_harmless, text)
    return clean


def _cannot_tell(text: str) -> bool:
    """Whether text lacks what all credentials are found by: = and :, a space, or how a JSON web token begins; or is a
    time."""
    if " " in text or "=" in text or "eyJ" in text or not text.isascii() or not text.isprintable():
        return False
    return ":" not in text or (text[-1] == "Z" and _TIME.fullmatch(text) is not None)


def _scanned(text: str) -> str:
    if "://" in text:
        text = _USER_OF_URL.sub(rf"\1{MASK}@", text)
    if _CREDENTIAL.search(text):
        text = _NAMED.sub(rf"\1{MASK}", text)
    if "auth" in text:
        text = _AUTH.sub(rf"\1\2{MASK}", text)
    if "earer" in text or "EARER" in text:
        text = _BEARER.sub(rf"\1{MASK}", text)
    if "eyJ" in text:
        text = _JSON_WEB_TOKEN.sub(MASK, text)
    if "PRIVATE KEY" in text:
        text = _PRIVATE_KEY.sub(rf"\1{MASK}\2", text)
    return text
