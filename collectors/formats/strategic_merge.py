"""Apply a strategic merge patch of Kubernetes to an object, without the schema of its kind. It does no I/O.

The key by which the items of a list are merged is in the patch itself, in `$setElementOrder`. A list without that is
replaced.
https://github.com/kubernetes/community/blob/master/contributors/devel/sig-api-machinery/strategic-merge-patch.md
describes the directives.
"""

from typing import Any

_ORDER, _DELETE, _PATCH, _RETAIN = "$setElementOrder/", "$deleteFromPrimitiveList/", "$patch", "$retainKeys"


def merged(original: dict[str, Any], patch: dict[str, Any]) -> dict[str, Any]:
    """Return an object after a patch; the original stays as it is. Raise RecursionError for endless nesting."""
    if patch.get(_PATCH) == "replace":
        return _plain(patch)
    kept = patch.get(_RETAIN)
    names = {each for each in kept if isinstance(each, str)} if isinstance(kept, list) else original
    result = {key: value for key, value in original.items() if key in names}
    for key, value in patch.items():
        before = result.get(key)
        if key.startswith("$"):
            continue
        if value is None or (isinstance(value, dict) and value.get(_PATCH) == "delete"):
            result.pop(key, None)
        elif isinstance(value, dict):
            result[key] = merged(before if isinstance(before, dict) else {}, value)
        elif isinstance(value, list) and isinstance(order := patch.get(_ORDER + key), list):
            result[key] = _merged_list(before if isinstance(before, list) else [], value, order)
        else:
            result[key] = value
    for directive, gone in patch.items():
        key = directive.removeprefix(_DELETE)
        if key != directive and isinstance(gone, list) and isinstance(result.get(key), list):
            result[key] = _without(result[key], gone)
    for directive, order in patch.items():
        key = directive.removeprefix(_ORDER)
        if key != directive and isinstance(order, list) and isinstance(result.get(key), list):
            result[key] = _ordered(result[key], order)
    return result


def _merged_list(before: list[Any], patch: list[Any], order: list[Any]) -> list[Any]:
    """Return a list after a patch of its items: those of equal keys are merged, and new ones are added."""
    key = _key(order, patch)
    if not key:
        return [*before, *_without(patch, before)]
    items = {str(each.get(key)): each for each in before if isinstance(each, dict)}
    for each in patch:
        if not isinstance(each, dict):
            continue
        name = str(each.get(key))
        if each.get(_PATCH) == "delete":
            items.pop(name, None)
        else:
            items[name] = merged(items.get(name, {}), each)
    return list(items.values())


def _without(items: list[Any], others: list[Any]) -> list[Any]:
    """Return the plain values of a list that are not among others; both lists may be long."""
    known = set(map(repr, others))
    return [each for each in items if repr(each) not in known]


def _ordered(items: list[Any], order: list[Any]) -> list[Any]:
    key = _key(order, [])
    places = {str(each.get(key) if isinstance(each, dict) else each): place for place, each in enumerate(order)}
    return sorted(
        items, key=lambda each: places.get(str(each.get(key) if isinstance(each, dict) else each), len(places))
    )


def _key(order: list[Any], patch: list[Any]) -> str:
    """Return the field by which items are merged; "" for a list of plain values. A list that becomes empty has no
    order, but its deletions name the key."""
    for each in (*order, *patch):
        if isinstance(each, dict):
            return next((key for key in each if key != _PATCH), "")
    return ""


def _plain(patch: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in patch.items() if not key.startswith("$")}
