"""Encrypt what is needed to send messages: addresses and tokens of destinations.

The key is CAUSELINE_CREDENTIALS_KEY, with which the credentials of connected clusters are encrypted, too.
"""

from collections.abc import Mapping

import orjson
from django.conf import settings

from collectors.watch.server import credentials

NO_KEY = (
    "Addresses and tokens of destinations are stored only encrypted, and CAUSELINE_CREDENTIALS_KEY is not set: set it "
    "to a long random text for web and workers alike, such as `openssl rand -hex 32` gives, and keep a copy."
)
_OTHER_KEY = (
    "Its address was encrypted with a key that is not in CAUSELINE_CREDENTIALS_KEY: add that key after the new one, or "
    "fill in the destination again."
)


class Unreadable(ValueError):
    """The values cannot be encrypted or decrypted. The message is a sentence for people, without secrets."""


def encrypted(values: Mapping[str, str]) -> bytes:
    """Return values encrypted with the first key. Raise Unreadable if no key is set."""
    if not settings.CREDENTIALS_KEYS:
        raise Unreadable(NO_KEY)
    return credentials.seal(orjson.dumps(dict(values)))


def decrypted(sealed: bytes) -> dict[str, str]:
    """Return what `encrypted` was given. Raise Unreadable if the key is not known any more."""
    if not settings.CREDENTIALS_KEYS:
        raise Unreadable(NO_KEY)
    try:
        plain = orjson.loads(credentials.unseal(bytes(sealed)))
    except credentials.Unusable:
        raise Unreadable(_OTHER_KEY) from None
    return {str(name): str(value) for name, value in plain.items()}
