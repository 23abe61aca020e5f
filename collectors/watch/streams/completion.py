"""Prove that a watch is complete without a bookmark: by a list that has nothing newer than the watch."""

from typing import Any

import msgspec

from collectors.watch.server.api import Api
from collectors.watch.server.failures import ApiError
from collectors.watch.streams.decoding import Malformed, page_of
from collectors.watch.streams.reflector import METADATA_LIST, PAGE, PAGES, Reflector
from timeline.core.entries import Mark, MarkType, revision


class _Metadata(msgspec.Struct, gc=False):
    name: str = ""
    namespace: str = ""
    uid: str = ""
    resourceVersion: str = ""


class _Item(msgspec.Struct, gc=False):
    metadata: _Metadata


_item = msgspec.json.Decoder(_Item)


def bookmark_by_list(api: Api, reflector: Reflector) -> Mark | None:
    """Return a mark if the watch has delivered every change up to the list's resourceVersion, else None.

    The mark is valid only while the watch continues: an object that was created and deleted unseen by the list is
    delivered by the watch a moment later.
    """
    if reflector.revision is None:
        return None
    listed: dict[str, int] = {}
    query: dict[str, Any] = {"limit": PAGE, "accept": METADATA_LIST}
    try:
        for _ in range(PAGES):
            page = page_of(api.get(reflector.path, **query))
            for item in page.items:
                metadata = _item.decode(item).metadata
                listed[metadata.uid or f"{metadata.namespace}/{metadata.name}"] = (
                    revision(metadata.resourceVersion) or 0
                )
            if not page.continue_token:
                break
            query["continue"] = page.continue_token
        else:
            return None
    except (ApiError, Malformed, ValueError, RecursionError):
        return None
    at = page.revision
    live_objects = {uid: each.revision for uid, each in dict(reflector.decoder.live_objects).items()}
    is_behind = any(live_objects.get(uid, -1) < own_version for uid, own_version in listed.items())
    has_extra = any(own_version <= at for uid, own_version in live_objects.items() if uid not in listed)
    if is_behind or has_extra:
        return None
    kind = reflector.resource
    return Mark(kind.group, kind.version, kind.kind, MarkType.BOOKMARK, api.now(), at, namespace=reflector.namespace)
