"""Answer get, list and watch requests, with objects or with the Tables that kubectl shows."""

import base64
import binascii
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import orjson

from collectors.replay import answers
from collectors.replay.answers import StatusError
from collectors.replay.commits import Commit
from collectors.replay.faults import Faults
from collectors.replay.history import Key
from collectors.replay.http import Request, Response, ResponseStream, StreamingBody
from collectors.replay.player import Player
from collectors.replay.resources import Resource
from collectors.replay.selectors import Selection
from collectors.replay.tables import rendering as tables
from collectors.replay.watching import Watch

_DEFAULT_WATCH_SECONDS = 1800.0  # seconds of a watch without timeoutSeconds


class Target(NamedTuple):
    """What a path names: all objects of a resource, those of a namespace, or one object."""

    resource: Resource
    namespace: str
    name: str


class Handlers:
    """Answer requests for the recorded objects."""

    def __init__(self, player: Player, faults: Faults, bookmark_seconds: float) -> None:
        self._player = player
        self._faults = faults
        self.bookmark_seconds = bookmark_seconds

    def object(self, target: Target, request: Request) -> Response:
        """Answer a get request. Raise StatusError 404."""
        log = self._player.history.logs[target.resource]
        if found := log.state.get((target.namespace, target.name)):
            representation = _representation(request)
            if representation == tables.TABLE:
                metadata = {"resourceVersion": str(found.revision)}
                return Response(200, self._table([found], target, request, metadata))
            return Response(200, tables.metadata_of(found).body if representation == tables.METADATA else found.body)
        raise answers.not_found(target.resource, target.name)

    def list(self, target: Target, request: Request) -> Response:
        """Answer a list request, with pages and resourceVersionMatch as an API server does. Raise StatusError."""
        history, query = self._player.history, request.query
        log, selection = history.logs[target.resource], _selection(target, query)
        current = history.revision(target.resource)
        limit, wanted = _number(query, "limit") or 0, _number(query, "resourceVersion") or 0
        revision, after = current, None
        if token := query.get("continue", ""):
            revision, after = _decode_continue_token(token)
        elif wanted and (match := query.get("resourceVersionMatch", "Exact" if limit else "")) != "NotOlderThan":
            revision = wanted if match == "Exact" else current
        if max(wanted, revision) > current:
            raise answers.too_large(max(wanted, revision), current)
        if revision < history.oldest(target.resource):
            raise answers.expired(revision, history.oldest(target.resource))
        state = log.at(revision)
        keys = sorted(state) if not target.namespace else sorted(key for key in state if key[0] == target.namespace)
        if selection or target.name:
            keys = [key for key in keys if selection.selects(state[key])]
        at = bisect_right(keys, after) if after else 0
        page = keys[at : at + limit] if limit else keys[at:]
        rest = len(keys) - at - len(page)
        next_token = _continue_token(revision, page[-1]) if rest and page else ""
        found = [self._faults.damaged(state[key], "list", number) for number, key in enumerate(page)]
        metadata = answers.metadata_of_list(revision, next_token, 0 if selection else rest)
        representation, api_version = _representation(request), target.resource.api_version
        if representation == tables.TABLE:
            return Response(200, self._table(found, target, request, metadata))
        if representation == tables.METADATA:
            metadata_events = [tables.metadata_of(commit) for commit in found]
            return answers.list_of(tables.METADATA, "meta.k8s.io/v1", metadata_events, metadata)
        return answers.list_of(target.resource.kind, api_version, found, metadata)

    def watch(self, target: Target, request: Request) -> Response | StreamingBody:
        """Answer a watch request with a stream. Raise StatusError."""
        history, query = self._player.history, request.query
        since = _number(query, "resourceVersion")
        initial = not since
        if "sendInitialEvents" in query:
            if query.get("resourceVersionMatch") != "NotOlderThan":
                needs = "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan"
                raise StatusError(422, f"ListOptions.meta.k8s.io is invalid: resourceVersionMatch: Forbidden: {needs}")
            initial = request.flag("sendInitialEvents")
            if initial and (since or 0) > history.revision(target.resource):
                raise answers.too_large(since or 0, history.revision(target.resource))
        bookmarks = request.flag("allowWatchBookmarks")
        if not initial and since and since < history.oldest(target.resource):
            gone = answers.expired(since, history.oldest(target.resource)).event()

            async def stream(response: ResponseStream) -> None:
                await response.send(gone)
                await response.end()

            return stream

        def table_events(commits: Sequence[Commit]) -> bytes:
            decoded = (
                self._table([each], target, request, {"resourceVersion": str(each.revision)}) for each in commits
            )
            return b"".join(answers.event(each.change, row) for each, row in zip(commits, decoded, strict=True))

        def metadata_events(commits: Sequence[Commit]) -> bytes:
            return answers.events(tables.metadata_of(each) for each in commits)

        return Watch(
            self._player,
            self._faults,
            history.logs[target.resource],
            namespace=target.namespace,
            selection=_selection(target, query),
            since=None if initial or not since else since,
            initial=initial,
            bookmarks=bookmarks,
            ends_initial=initial and bookmarks and "sendInitialEvents" in query,
            seconds=_number(query, "timeoutSeconds") or _DEFAULT_WATCH_SECONDS,
            every=lambda: self.bookmark_seconds,
            write={tables.TABLE: table_events, tables.METADATA: metadata_events}.get(
                _representation(request), answers.events
            ),
        ).serve

    def _table(self, commits: Sequence[Commit], target: Target, request: Request, metadata: dict[str, Any]) -> bytes:
        group, _, kind, *_ = target.resource
        include = request.query.get("includeObject", "Metadata")
        return tables.table(commits, (group, kind), self._player.clock.now(), metadata, include=include)


def _representation(request: Request) -> str:
    return tables.requested_representation(request.headers.get("accept", ""))


def _selection(target: Target, query: Mapping[str, str]) -> Selection:
    fields = query.get("fieldSelector", "")
    if target.name:  # a watch of one object
        fields = ",".join(filter(None, (fields, f"metadata.name={target.name}")))
    try:
        return Selection(target.resource.group, target.resource.kind, query.get("labelSelector", ""), fields)
    except ValueError as error:
        raise StatusError(400, str(error)) from None


_DIGITS = 39  # digits of a resourceVersion at most


def _number(query: Mapping[str, str], name: str) -> int | None:
    """Return a query parameter as a number; None if it is not set. Raise StatusError 400."""
    text = query.get(name, "")
    if text and not (text.isascii() and text.isdecimal() and len(text) <= _DIGITS):
        raise StatusError(400, f"{name}: Invalid value: {text!r}: it is not a whole number")
    return int(text) if text else None


def _continue_token(revision: int, last: Key) -> str:
    return base64.urlsafe_b64encode(orjson.dumps({"rv": str(revision), "after": last})).decode()


def _decode_continue_token(token: str) -> tuple[int, Key]:
    try:
        decoded = orjson.loads(base64.urlsafe_b64decode(token))
        namespace, name = decoded["after"]
        return int(decoded["rv"]), (namespace, name)
    except (ValueError, KeyError, TypeError, binascii.Error):
        raise StatusError(400, "continue key is not valid") from None
