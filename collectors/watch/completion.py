"""This module proves that a watch is complete without a bookmark: by a list that has nothing newer than the watch."""

from typing import Any

import msgspec

from collectors.watch.api import Api
from collectors.watch.failures import ApiError
from collectors.watch.reflector import METADATA_LIST, PAGE, PAGES, Reflector
from timeline.core.entries import Mark, MarkType, revision


class _Metadata(msgspec.Struct, gc=False):
    name: str = ""
    namespace: str = ""
    uid: str = ""
    resourceVersion: str = ""


class _Item(msgspec.Struct, gc=False):
    metadata: _Metadata


class _ListMetadata(msgspec.Struct, gc=False):
    resourceVersion: str = ""
    continue_: str = msgspec.field(default="", name="continue")


class _List(msgspec.Struct, gc=False):
    metadata: _ListMetadata
    items: list[_Item] | None = None


_list = msgspec.json.Decoder(_List)


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
            page = _list.decode(api.get(reflector.path, **query))
            for item in page.items or ():
                metadata = item.metadata
                listed[metadata.uid or f"{metadata.namespace}/{metadata.name}"] = (
                    revision(metadata.resourceVersion) or 0
                )
            if not page.metadata.continue_:
                break
            query["continue"] = page.metadata.continue_
        else:
            return None
    except (ApiError, ValueError, RecursionError):
        return None
    at = revision(page.metadata.resourceVersion)
    live_objects = {uid: each.revision for uid, each in dict(reflector.decoder.live_objects).items()}
    is_behind = any(live_objects.get(uid, -1) < own_version for uid, own_version in listed.items())
    has_extra = any(own_version <= (at or 0) for uid, own_version in live_objects.items() if uid not in listed)
    if at is None or is_behind or has_extra:
        return None
    kind = reflector.resource
    return Mark(kind.group, kind.version, kind.kind, MarkType.BOOKMARK, api.now(), at, namespace=reflector.namespace)
