"""Pure: what must never be stored is taken out of an object before anything else sees it."""

import re
from functools import lru_cache
from typing import Any

import orjson

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


def redact(body: Any, kind: str = "") -> Any:
    """A copy without Secret data, environment values, the last-applied annotation and credentials in free text."""
    if isinstance(body, dict) and "Secret" in (kind, body.get("kind")):
        return _secret(body)
    if isinstance(body, dict) and body.get("kind") == "SecretList" and isinstance(items := body.get("items"), list):
        return {**_walk(body, ""), "items": [redact(item, "Secret") for item in items]}
    return _walk(body, "")


def redact_json(raw: bytes, kind: str = "") -> bytes:
    """The same as JSON; keys come back sorted, so that equal objects are equal bytes.

    Raises ValueError, and RecursionError where it is nested too deep to be written.
    """
    try:
        return orjson.dumps(redact(orjson.loads(raw), kind), option=orjson.OPT_SORT_KEYS)
    except orjson.JSONEncodeError as error:
        if "Recursion" in str(error):
            raise RecursionError(str(error)) from None
        raise ValueError(f"the object cannot be kept: {error}") from None


def _secret(body: dict[str, Any]) -> dict[str, Any]:
    clean = {key: _masked(value) if key in {"data", "stringData"} else _walk(value, key) for key, value in body.items()}
    metadata = clean.get("metadata")
    if isinstance(metadata, dict) and "annotations" in metadata:
        metadata["annotations"] = _masked(metadata["annotations"])  # deployers keep copies of the whole there
    return clean


def _masked(value: Any) -> Any:
    return dict.fromkeys(value, MASK) if isinstance(value, dict) else MASK


def _walk(value: Any, under: str) -> Any:
    if isinstance(value, dict):
        if under == "managedFields":
            return value
        if value.get("kind") == "Secret" and ("data" in value or "stringData" in value):
            return _secret(value)
        clean = {
            key: _masked(each) if key == "stringData" else _entry(key, each, under)
            for key, each in value.items()
            if key != _LAST_APPLIED
        }
        if "value" in clean and isinstance(name := clean.get("name"), str) and _names_credential(name):
            clean["value"] = MASK  # a header of a probe
        return clean
    if isinstance(value, list):
        if under in {"args", "command"}:
            return _arguments(value)
        if _is_environment(under):
            return [_assignment(each) if isinstance(each, str) else _walk(each, under) for each in value]
        return [_walk(each, under) for each in value]
    return _text(value) if isinstance(value, str) else value


def _entry(key: str, value: Any, under: str) -> Any:
    if isinstance(value, str):
        if key != "name" and _is_environment(under):
            return MASK
        if under in {"annotations", "data"} and _names_credential(key):
            return MASK
        if under not in {"labels", "matchLabels"} and _is_credential(key):
            return MASK
    return _walk(value, key)


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
            clean.append(_walk(word, ""))
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
