"""Decide from the name of a field which fields beside it, or in it, hold credentials. It does no I/O.

`name` and `value` are a pair, however they are written; `env` holds variables; `key` is a credential in `tls`. Names
are compared by their words or letters, as in `timeline/core/secret_names.py`. These tables are for objects and text.
"""

import re
from typing import Any

from collectors.redaction.values import LETTER, harmless
from timeline.core.masks import BY_NAME
from timeline.core.secret_names import Grade, folded, grade, is_reference, letters, name_words, remembered, word_set

_ENVIRONMENT = re.compile(
    r"(?:.*[^\W_])?env(?:s|vars?|variables?|iron|ironment(?:vars?|variables?)?)?"
)  # env, extraEnvVars
_DATA = frozenset({"stringdata", "binarydata"})  # fields of Secrets and ConfigMaps, in whatever they are
_NAMING = word_set(  # last words of fields that name what a field beside them holds
    "name n key k id field property header param parameter variable var setting option label title type format "
    "attribute attr"
)
_VALUING = word_set("value values v val vals data content default string text")  # last words of the fields beside those
FLAGS = word_set(  # fields of a parameter that say that its value is a credential
    "sensitive issensitive secret issecret secure issecure masked ismasked noecho encrypted isencrypted confidential"
)
_PAIR_NAME = re.compile(rf"[ {LETTER}]{{1,60}}")
_WORDS = re.compile(r"[a-z][a-z./_-]*")
_PUBLIC = ("ASYMMETRIC_PUBLIC", "REMOTE")  # types of keys of Tink that are no credentials
PARENTS = frozenset(  # fields in which `key` and the like are credentials
    form
    for each in word_set("tls ssl ssh api jwt hmac aes rsa gpg pgp snmp encryption signing license wireguard eab")
    for form in (each, each.upper(), each.title())
)
CONTEXTS = {  # a name that an object or a text has -> names that are those of credentials there
    "kty": word_set("d p q dp dq qi k oth"),  # a JSON Web Key
    "keyMaterialType": word_set("value"),  # a key of Tink
    "Private-key-format": word_set("PrivateExponent Prime1 Prime2 Exponent1 Exponent2 Coefficient"),  # a key of DNSSEC
}
WITH_CONTEXT = frozenset(CONTEXTS)
TELLING = frozenset({"instances", "Secret", "SecretList", *CONTEXTS})
TELLING_LETTERS = FLAGS | _DATA
DEPENDENT = word_set("key community code phrase")  # fields that are credentials in one of PARENTS


@remembered
def is_environment(field: str) -> bool:
    """Return whether a field holds environment variables, such as env or extraEnvVars."""
    return ":" not in field and _ENVIRONMENT.fullmatch(letters(field)) is not None


@remembered
def is_data(field: str) -> bool:
    """Return whether a field holds the data of a Secret, or data that is not text."""
    return letters(field) in _DATA


@remembered
def naming(field: str) -> str | None:
    """Return what is before the last word of a field that names what another one holds: "parameter" of parameterName,
    "" of Name; None for any other field."""
    return _before_last(field, _NAMING)


@remembered
def valuing(field: str) -> str | None:
    """Return the same of a field that holds what another one names: "parameter" of parameter_value, "" of VALUE."""
    return _before_last(field, _VALUING)


def _before_last(field: str, last_words: frozenset[str]) -> str | None:
    words = name_words(field)
    if not words or words[-1] not in last_words:
        return None
    before = " ".join(words[:-1])
    return None if grade(before) else before  # secretName is the name of a Secret


def is_telling(text: str) -> bool:
    """Return whether a string says, as a name or as a value, how the fields beside it are read."""
    return text in TELLING or letters(text) in TELLING_LETTERS


@remembered
def is_flag(field: str) -> bool:
    """Return whether a field says, if it is true, that the value beside it is a credential."""
    return letters(field) in FLAGS


@remembered
def may_hold_more(field: str) -> bool:
    """Return whether a field such as `auth` may hold credentials under any names. A webhook says what is called."""
    return not letters(field).endswith(("webhook", "webhooks", "license", "licence", "kubeconfig"))


def is_secret_within(field: str, parent: str) -> bool:
    """Return whether a field is a credential only because of the field that holds it: `key` in `tls`."""
    return parent in PARENTS and letters(field) in DEPENDENT and grade(f"{parent} {field}") != Grade.PLAIN


def is_pair(name: Any, value: Any) -> bool:
    """Return whether a list is a name and a credential, such as `["password", "x"]`, and not a list of names."""
    return (
        isinstance(name, str)
        and isinstance(value, str)
        and bool(grade(name))
        and _PAIR_NAME.fullmatch(folded(name)) is not None
        and _WORDS.fullmatch(value) is None
        and not grade(value)
        and not value.startswith((name, "-"))
        and not harmless(value)
    )


def mask_context(body: dict[str, Any], known: str) -> None:
    """Mask in place the fields that are credentials because of a field beside them, as in a JSON Web Key."""
    if body[known] not in _PUBLIC:
        for key in CONTEXTS[known].intersection(body):
            body[key] = BY_NAME


def mask_texts(body: dict[str, Any]) -> None:
    """Mask in place the texts in a field such as `auth`, except those that only describe how it is done."""
    for key, value in body.items():
        if isinstance(value, dict):
            mask_texts(value)
        elif isinstance(value, str) and not is_reference(key) and not harmless(value):
            body[key] = BY_NAME
