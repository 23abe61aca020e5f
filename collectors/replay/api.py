"""The paths of an API server: discovery, objects, lists and watches; and who may ask for what."""

import asyncio
import base64
import binascii
from bisect import bisect_right
from collections import Counter
from collections.abc import Mapping
from typing import Any, NamedTuple

import orjson

from collectors.replay import answers
from collectors.replay.answers import Refused, json
from collectors.replay.faults import Fault, Faults
from collectors.replay.history import Key
from collectors.replay.http import Answer, Request, Streaming, Wire
from collectors.replay.player import Player
from collectors.replay.resources import Resource, api_versions, group_of, groups, resource_list
from collectors.replay.selectors import Selection
from collectors.replay.watching import Watch

VERSION = {"major": "1", "minor": "36", "gitVersion": "v1.36.0+causeline-replay", "platform": "linux/amd64"}
_REVIEWS = "authorization.k8s.io/v1"
_REVIEW = {
    "name": "selfsubjectaccessreviews",
    "singularName": "selfsubjectaccessreview",
    "namespaced": False,
    "kind": "SelfSubjectAccessReview",
    "verbs": ["create"],
}
_HEALTH = ("/readyz", "/healthz", "/livez")
_USUAL_SECONDS = 1800.0  # of a watch that does not say how long it is to last


class Target(NamedTuple):
    """What a path names: all objects of a resource, those of a namespace, or one."""

    resource: Resource
    namespace: str
    name: str


class Api:
    """Answers every request but those that steer the replay."""

    def __init__(self, player: Player, faults: Faults, *, token: str = "", bookmark_seconds: float = 60) -> None:
        self._player = player
        self.faults = faults
        self.token = token  # "" lets everybody in
        self.bookmark_seconds = bookmark_seconds
        self.denied: set[str] = set()  # resources, as kubectl names them
        self.requests: Counter[str] = Counter()
        self.address = ""
        self._resources = player.tape.resources
        self._by_path = {(each.api_version, each.plural): each for each in self._resources}

    async def answer(self, request: Request) -> Answer | Streaming | None:
        try:
            return await self._answer(request)
        except Refused as refused:
            return refused.answer()

    async def _answer(self, request: Request) -> Answer | Streaming | None:
        if request.path in _HEALTH:
            return Answer(200, b"ok", content_type="text/plain")
        target = self._target(request.path)
        verb = _verb(request, target)
        self.requests[f"{verb} {target.resource.name}" if target else request.path] += 1
        if self.token and request.headers.get("authorization") != f"Bearer {self.token}":
            raise Refused(401, "Unauthorized")
        if fault := self.faults.take(target.resource if target else None, verb):
            if fault.kind == "close":
                return None
            await _struck(fault)
        if request.path == f"/apis/{_REVIEWS}/selfsubjectaccessreviews" and request.method == "POST":
            return self._review(request.body)
        if request.method not in ("GET", "HEAD"):
            raise Refused(
                405, f"{request.method} is not allowed: a recording is replayed, and the past stays as it was"
            )
        if target is None:
            return self._discovery(request.path)
        self._permit(target.resource, verb)
        if target.name and verb == "get":
            return self._object(target, request)
        selection = _selection(target, request.query)
        return self._watch(target, selection, request) if verb == "watch" else self._list(target, selection, request)

    def _target(self, path: str) -> Target | None:
        parts = path.strip("/").split("/")
        if parts[:2] == ["api", "v1"]:
            version, rest = "v1", parts[2:]
        elif parts[0] == "apis" and len(parts) > 3:
            version, rest = f"{parts[1]}/{parts[2]}", parts[3:]
        else:
            return None
        namespace = ""
        if len(rest) > 2 and rest[0] == "namespaces":
            namespace, rest = rest[1], rest[2:]
        if not rest or not (resource := self._by_path.get((version, rest[0]))) or len(rest) > 2:
            if not rest or version == _REVIEWS:
                return None
            raise Refused(404, "the server could not find the requested resource")
        return Target(resource, namespace, rest[1] if len(rest) == 2 else "")

    def _discovery(self, path: str) -> Answer:
        parts = path.strip("/").split("/")
        known = groups(self._resources) | {"authorization.k8s.io": ["v1"]}
        if path == "/version":
            return json(VERSION)
        if path == "/api":
            return json(api_versions(self.address))
        if path == "/apis":
            told = [group_of(name, versions) for name, versions in sorted(known.items())]
            return json({"kind": "APIGroupList", "apiVersion": "v1", "groups": told})
        if parts[0] == "apis" and len(parts) == 2 and parts[1] in known:
            return json(group_of(parts[1], known[parts[1]]))
        version = "v1" if parts == ["api", "v1"] else "/".join(parts[1:])
        if version == _REVIEWS:
            return json(resource_list(version, ()) | {"resources": [_REVIEW]})
        if parts[0] in ("api", "apis") and any(each.api_version == version for each in self._resources):
            return json(resource_list(version, self._resources))
        if path == "/":
            return json({"paths": ["/api", "/api/v1", "/apis", *_HEALTH, "/version"]})
        raise Refused(404, "the server could not find the requested resource")

    def _review(self, body: bytes) -> Answer:
        """SelfSubjectAccessReview: what is recorded may be read, unless it was forbidden for a test."""
        try:
            review: dict[str, Any] = orjson.loads(body)
            asked = review["spec"].get("resourceAttributes") or {}
        except (ValueError, KeyError, AttributeError):
            raise Refused(400, "this is no SelfSubjectAccessReview") from None
        name = f"{asked.get('resource', '')}.{asked.get('group', '')}".rstrip(".")
        allowed = not asked or (
            asked.get("verb") in ("get", "list", "watch", "*") and not {name, asked.get("resource")} & self.denied
        )
        status = {"allowed": allowed, "reason": "" if allowed else "not allowed in this replay"}
        return json(review | {"status": status}, 201)

    def _permit(self, resource: Resource, verb: str) -> None:
        if {resource.name, resource.plural} & self.denied:
            raise Refused(403, f'{resource.name} is forbidden: User "replay" cannot {verb} it')

    def _object(self, target: Target, request: Request) -> Answer:
        log = self._player.history.logs[target.resource]
        if found := log.state.get((target.namespace, target.name)):
            return Answer(200, found.body)
        raise answers.not_found(target.resource, target.name)

    def _list(self, target: Target, selection: Selection, request: Request) -> Answer:
        history, log = self._player.history, self._player.history.logs[target.resource]
        current, query = history.revision(target.resource), request.query
        limit, wanted = _number(query, "limit") or 0, _number(query, "resourceVersion") or 0
        revision, after = current, None
        if token := query.get("continue", ""):
            revision, after = _continued(token)
        elif wanted and (match := query.get("resourceVersionMatch", "Exact" if limit else "")) != "NotOlderThan":
            revision = wanted if match == "Exact" else current
        if max(wanted, revision) > current:
            raise answers.too_large(max(wanted, revision), current)
        if revision < history.oldest(target.resource):
            raise answers.expired(revision, history.oldest(target.resource))
        state = log.at(revision)
        keys = sorted(state) if not target.namespace else sorted(key for key in state if key[0] == target.namespace)
        if selection or target.name:
            keys = [key for key in keys if selection.takes(state[key])]
        at = bisect_right(keys, after) if after else 0
        page = keys[at : at + limit] if limit else keys[at:]
        rest = len(keys) - at - len(page)
        following = _token(revision, page[-1]) if rest and page else ""
        found = [state[key] for key in page]
        return answers.list_of(target.resource, found, revision, following, 0 if selection else rest)

    def _watch(self, target: Target, selection: Selection, request: Request) -> Answer | Streaming:
        history, query = self._player.history, request.query
        since = _number(query, "resourceVersion")
        initial = not since
        if "sendInitialEvents" in query:
            if query.get("resourceVersionMatch") != "NotOlderThan":
                needs = "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan"
                raise Refused(422, f"ListOptions.meta.k8s.io is invalid: resourceVersionMatch: Forbidden: {needs}")
            initial = request.flag("sendInitialEvents")
            if initial and (since or 0) > history.revision(target.resource):
                raise answers.too_large(since or 0, history.revision(target.resource))
        bookmarks = request.flag("allowWatchBookmarks")
        if not initial and since and since < history.oldest(target.resource):
            gone = answers.expired(since, history.oldest(target.resource)).event()

            async def stream(wire: Wire) -> None:
                await wire.send(gone)
                await wire.end()

            return stream
        return Watch(
            self._player,
            self.faults,
            history.logs[target.resource],
            namespace=target.namespace,
            selection=selection,
            since=None if initial or not since else since,
            initial=initial,
            bookmarks=bookmarks,
            ends_initial=initial and bookmarks and "sendInitialEvents" in query,
            seconds=_number(query, "timeoutSeconds") or _USUAL_SECONDS,
            every=lambda: self.bookmark_seconds,
        ).serve


def _verb(request: Request, target: Target | None) -> str:
    if target is None or request.method not in ("GET", "HEAD"):
        return request.method.lower()
    if request.flag("watch"):
        return "watch"
    return "get" if target.name else "list"


def _selection(target: Target, query: Mapping[str, str]) -> Selection:
    fields = query.get("fieldSelector", "")
    if target.name:  # a watch of one object
        fields = ",".join(filter(None, (fields, f"metadata.name={target.name}")))
    try:
        return Selection(target.resource.group, target.resource.kind, query.get("labelSelector", ""), fields)
    except ValueError as error:
        raise Refused(400, str(error)) from None


def _number(query: Mapping[str, str], name: str) -> int | None:
    text = query.get(name, "")
    if text and not (text.isascii() and text.isdecimal()):
        raise Refused(400, f"{name}: Invalid value: {text!r}: it is no whole number")
    return int(text) if text else None


def _token(revision: int, last: Key) -> str:
    return base64.urlsafe_b64encode(orjson.dumps({"rv": str(revision), "after": last})).decode()


def _continued(token: str) -> tuple[int, Key]:
    try:
        told = orjson.loads(base64.urlsafe_b64decode(token))
        namespace, name = told["after"]
        return int(told["rv"]), (namespace, name)
    except (ValueError, KeyError, TypeError, binascii.Error):
        raise Refused(400, "continue key is not valid") from None


async def _struck(fault: Fault) -> None:
    if fault.kind == "slow-list":
        await asyncio.sleep(fault.seconds)
        return
    code, message = {
        "gone": (410, "The provided resource version is too old: a test asked for this answer"),
        "throttle": (429, "too many requests, please try again later"),
        "error": (500, "Internal error occurred: a test asked for this answer"),
        "unauthorized": (401, "Unauthorized"),
        "forbidden": (403, "forbidden: a test asked for this answer"),
    }[fault.kind]
    details = {"retryAfterSeconds": max(1, round(fault.seconds))} if code == 429 else None
    raise Refused(code, message, details=details)
