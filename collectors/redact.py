"""Pure: what must never be stored is taken out of an object before anything else sees it."""

import re
from typing import Any

import orjson

MASK = "[redacted]"
_LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"
_CREDENTIAL_NAME = re.compile(
    r"(?i)(passw(or)?d|passphrase|secret|token|credential|api[-_.]?key|access[-_.]?key|private[-_.]?key|authorization)"
)
# --token=x, --password x, -p=… inside one argument, and credentials inside a URL
_ARGUMENT = re.compile(r"(?i)(--?[\w.-]*(?:passw(?:or)?d|secret|token|credential|api-?key|access-?key)[\w.-]*[= ])(\S+)")
_URL = re.compile(r"(\w+://[^\s/:@]+:)[^\s/@]+(@)")
_BEARER = re.compile(r"(?i)(bearer\s+)[\w.~+/-]+=*")


def redact(body: Any) -> Any:
    """A copy without Secret data, environment values, the last-applied annotation and credentials in free text."""
    if isinstance(body, dict) and body.get("kind") == "Secret":
        body = {key: _masked(value) if key in {"data", "stringData"} else value for key, value in body.items()}
    return _walk(body, "")


def redact_json(raw: bytes) -> bytes:
    """The same for an object as JSON; keys come back sorted, so that equal objects are equal bytes."""
    return orjson.dumps(redact(orjson.loads(raw)), option=orjson.OPT_SORT_KEYS)


def _masked(value: Any) -> Any:
    return dict.fromkeys(value, MASK) if isinstance(value, dict) else MASK


def _walk(value: Any, under: str) -> Any:
    if isinstance(value, dict):
        if under == "managedFields":
            return value
        return {key: _entry(key, each, under) for key, each in value.items() if key != _LAST_APPLIED}
    if isinstance(value, list):
        if under in {"args", "command"}:
            return _arguments(value)
        return [_walk(each, under) for each in value]
    return _text(value) if isinstance(value, str) else value


def _entry(key: str, value: Any, under: str) -> Any:
    if under == "env" and key == "value":
        return MASK
    if under in {"annotations", "data", "stringData"} and isinstance(value, str) and _CREDENTIAL_NAME.search(key):
        return MASK
    return _walk(value, key)


def _arguments(words: list[Any]) -> list[Any]:
    """A credential may stand in the word behind its option."""
    clean, secret_next = [], False
    for word in words:
        if secret_next and isinstance(word, str) and not word.startswith("-"):
            clean.append(MASK)
            secret_next = False
            continue
        secret_next = (
            isinstance(word, str) and word.startswith("-") and "=" not in word and bool(_CREDENTIAL_NAME.search(word))
        )
        clean.append(_walk(word, ""))
    return clean


def _text(text: str) -> str:
    if "://" in text:
        text = _URL.sub(rf"\1{MASK}\2", text)
    if "-" in text:
        text = _ARGUMENT.sub(rf"\1{MASK}", text)
    if "earer" in text or "EARER" in text:
        text = _BEARER.sub(rf"\1{MASK}", text)
    return text
