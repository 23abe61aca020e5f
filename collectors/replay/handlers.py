"""What is read of a replay: one object, a list, a watch; as objects, or as the Tables that kubectl shows."""

import base64
import binascii
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import orjson

from collectors.replay import answers, tables
from collectors.replay.answers import Refused
from collectors.replay.commits import Commit
from collectors.replay.faults import Faults
from collectors.replay.history import Key
from collectors.replay.http import Answer, Request, Streaming, Wire
from collectors.replay.player import Player
from collectors.replay.resources import Resource
from collectors.replay.selectors import Selection
from collectors.replay.watching import Watch

_USUAL_SECONDS = 1800.0  # of a watch that does not say how long it is to last


class Target(NamedTuple):
    """What a path names: all objects of a resource, those of a namespace, or one."""

    resource: Resource
    namespace: str
    name: str


class Reads:
    """Answers what is asked of the recorded objects."""

    def __init__(self, player: Player, faults: Faults, bookmark_seconds: float) -> None:
        self._player = player
        self._faults = faults
        self.bookmark_seconds = bookmark_seconds

    def object(self, target: Target, request: Request) -> Answer:
        log = self._player.history.logs[target.resource]
        if found := log.state.get((target.namespace, target.name)):
            shown = _shown(request)
            if shown == tables.TABLE:
                metadata = {"resourceVersion": str(found.revision)}
                return Answer(200, self._table([found], target, request, metadata))
            return Answer(200, tables.metadata_of(found).body if shown == tables.METADATA else found.body)
        raise answers.not_found(target.resource, target.name)

    def list(self, target: Target, request: Request) -> Answer:
        history, query = self._player.history, request.query
        log, selection = history.logs[target.resource], _selection(target, query)
        current = history.revision(target.resource)
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
        found = [self._faults.spoiled(state[key], "list", number) for number, key in enumerate(page)]
        metadata = answers.metadata_of_list(revision, following, 0 if selection else rest)
        shown, api_version = _shown(request), target.resource.api_version
        if shown == tables.TABLE:
            return Answer(200, self._table(found, target, request, metadata))
        if shown == tables.METADATA:
            partial = [tables.metadata_of(commit) for commit in found]
            return answers.list_of(tables.METADATA, "meta.k8s.io/v1", partial, metadata)
        return answers.list_of(target.resource.kind, api_version, found, metadata)

    def watch(self, target: Target, request: Request) -> Answer | Streaming:
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

        def rows(commits: Sequence[Commit]) -> bytes:
            told = (self._table([each], target, request, {"resourceVersion": str(each.revision)}) for each in commits)
            return b"".join(answers.event(each.change, row) for each, row in zip(commits, told, strict=True))

        def partial(commits: Sequence[Commit]) -> bytes:
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
            seconds=_number(query, "timeoutSeconds") or _USUAL_SECONDS,
            every=lambda: self.bookmark_seconds,
            write={tables.TABLE: rows, tables.METADATA: partial}.get(_shown(request), answers.events),
        ).serve

    def _table(self, commits: Sequence[Commit], target: Target, request: Request, metadata: dict[str, Any]) -> bytes:
        group, _, kind, *_ = target.resource
        include = request.query.get("includeObject", "Metadata")
        return tables.table(commits, (group, kind), self._player.clock.now(), metadata, include=include)


def _shown(request: Request) -> str:
    return tables.asked_for(request.headers.get("accept", ""))


def _selection(target: Target, query: Mapping[str, str]) -> Selection:
    fields = query.get("fieldSelector", "")
    if target.name:  # a watch of one object
        fields = ",".join(filter(None, (fields, f"metadata.name={target.name}")))
    try:
        return Selection(target.resource.group, target.resource.kind, query.get("labelSelector", ""), fields)
    except ValueError as error:
        raise Refused(400, str(error)) from None


_DIGITS = 39  # as many as a revision may have


def _number(query: Mapping[str, str], name: str) -> int | None:
    text = query.get(name, "")
    if text and not (text.isascii() and text.isdecimal() and len(text) <= _DIGITS):
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
