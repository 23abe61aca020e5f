"""Check the key of Google's service account, because a key names where it is sent."""

from typing import Any

import orjson

from collectors.stores.kinds import StoreRefused

_GOOGLE = "https://oauth2.googleapis.com/token"
_NEEDED = ("type", "project_id", "private_key_id", "private_key", "client_email", "token_uri")


def service_account(text: str, *token_uris: str) -> dict[str, Any]:
    """Return what is needed of the key of a service account, which gets its tokens from Google or a given address.

    Raise Refused for other credentials: they may name hosts or programs.
    """
    try:
        info = orjson.loads(text)
    except ValueError:
        info = None
    if not isinstance(info, dict) or info.get("type") != "service_account":
        raise StoreRefused("The credentials have to be the JSON key of a service account.")
    if info.get("token_uri") not in (_GOOGLE, *token_uris):
        raise StoreRefused("The key of the service account names a token_uri that is not Google's.")
    return {name: info[name] for name in _NEEDED if name in info}
