"""Route the paths of an API server (discovery, objects, lists, watches) and decide who may read what."""

import asyncio
from collections import Counter

from collectors.replay import access_reviews
from collectors.replay.answers import StatusError, json
from collectors.replay.faults import Fault, Faults
from collectors.replay.handlers import Handlers, Target
from collectors.replay.http import Request, Response, StreamingBody
from collectors.replay.player import Player
from collectors.replay.resources import Resource, api_versions, group_of, groups, resource_list

VERSION = {"major": "1", "minor": "36", "gitVersion": "v1.36.0+causeline-replay", "platform": "linux/amd64"}
HEALTH = ("/readyz", "/healthz", "/livez")


class Api:
    """Answer every request except those that control the replay."""

    def __init__(self, player: Player, faults: Faults, *, bookmark_seconds: float = 60) -> None:
        self.faults = faults
        self._reads = Handlers(player, faults, bookmark_seconds)
        self.denied: set[str] = set()  # resources that are forbidden, as kubectl names them
        self.namespaces: set[str] = (
            set()
        )  # the only ones that may be read, and nothing cluster-scoped; none: everything
        self.requests: Counter[str] = Counter()  # "list pods" -> how often it was requested
        self.address = ""
        self._resources = player.tape.resources
        self._by_path = {(each.api_version, each.plural): each for each in self._resources}

    def set_bookmark_interval(self, bookmark_seconds: float) -> None:
        """Set the seconds between two bookmarks of a watch."""
        self._reads.bookmark_seconds = bookmark_seconds

    async def answer(self, request: Request) -> Response | StreamingBody | None:
        """Answer a request; None: close the connection without an answer."""
        try:
            return await self._answer(request)
        except StatusError as refused:
            return refused.answer()

    async def _answer(self, request: Request) -> Response | StreamingBody | None:
        if request.path in HEALTH:
            return Response(200, b"ok", content_type="text/plain")
        target = self._target(request.path)
        verb = _verb(request, target)
        self.requests[f"{verb} {target.resource.name}" if target else request.path] += 1
        if fault := self.faults.take(target.resource if target else None, verb):
            if fault.kind == "close":
                return None
            await _apply_fault(fault)
        if request.path == f"/apis/{access_reviews.API_VERSION}/selfsubjectaccessreviews" and request.method == "POST":
            return self._review(request.body)
        if request.method not in ("GET", "HEAD"):
            raise StatusError(
                405, f"{request.method} is not allowed: this server replays a recording, which cannot be changed"
            )
        if target is None:
            return self._discovery(request.path)
        self._permit(target.resource, verb, target.namespace)
        if verb == "get":
            return self._reads.object(target, request)
        return self._reads.watch(target, request) if verb == "watch" else self._reads.list(target, request)

    def _target(self, path: str) -> Target | None:
        """Return what a path names; None for a path of discovery. Raise StatusError 404."""
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
            if not rest or version == access_reviews.API_VERSION:
                return None
            raise StatusError(404, "the server could not find the requested resource")
        return Target(resource, namespace, rest[1] if len(rest) == 2 else "")

    def _discovery(self, path: str) -> Response:
        parts = path.strip("/").split("/")
        known = groups(self._resources) | {access_reviews.API_VERSION.partition("/")[0]: ["v1"]}
        if path == "/version":
            return json(VERSION)
        if path == "/api":
            return json(api_versions(self.address))
        if path == "/apis":
            groups_found = [group_of(name, versions) for name, versions in sorted(known.items())]
            return json({"kind": "APIGroupList", "apiVersion": "v1", "groups": groups_found})
        if parts[0] == "apis" and len(parts) == 2 and parts[1] in known:
            return json(group_of(parts[1], known[parts[1]]))
        version = "v1" if parts == ["api", "v1"] else "/".join(parts[1:])
        if version == access_reviews.API_VERSION:
            return json(resource_list(version, ()) | {"resources": [access_reviews.DISCOVERED]})
        if parts[0] in ("api", "apis") and any(each.api_version == version for each in self._resources):
            return json(resource_list(version, self._resources))
        if path == "/":
            return json({"paths": ["/api", "/api/v1", "/apis", *HEALTH, "/version"]})
        raise StatusError(404, "the server could not find the requested resource")

    def _review(self, body: bytes) -> Response:
        """Answer an access review: recorded resources may be read, unless they are denied for a test."""
        try:
            review = access_reviews.requested_access(body)
        except ValueError as error:
            raise StatusError(400, str(error)) from None
        reads = review.verb in ("get", "list", "watch", "*")
        within = not self.namespaces or review.namespace in self.namespaces
        allowed = not review.resource or (reads and within and not {review.name, review.resource} & self.denied)
        return json(access_reviews.review_answer(allowed), 201)

    def _permit(self, resource: Resource, verb: str, namespace: str) -> None:
        """Raise StatusError 403 if a resource is denied, or the namespace is not one of those that may be read."""
        if {resource.name, resource.plural} & self.denied:
            raise StatusError(403, f'{resource.name} is forbidden: User "replay" cannot {verb} it')
        if self.namespaces and namespace not in self.namespaces:
            where = f'in the namespace "{namespace}"' if namespace else "at the cluster scope"
            raise StatusError(403, f'{resource.name} is forbidden: User "replay" cannot {verb} it {where}')


def _verb(request: Request, target: Target | None) -> str:
    """Return the verb of a request as authorization names it."""
    if target is None or request.method not in ("GET", "HEAD"):
        return request.method.lower()
    if request.flag("watch"):
        return "watch"
    return "get" if target.name else "list"


async def _apply_fault(fault: Fault) -> None:
    """Wait, or raise the StatusError of a fault."""
    if fault.kind == "slow-list":
        await asyncio.sleep(fault.seconds)
        return
    code, message = {
        "gone": (410, "The provided resource version is too old: this answer was requested for a test"),
        "throttle": (429, "too many requests, please try again later"),
        "error": (500, "Internal error occurred: this answer was requested for a test"),
        "unauthorized": (401, "Unauthorized"),
        "forbidden": (403, "forbidden: this answer was requested for a test"),
    }[fault.kind]
    details = {"retryAfterSeconds": max(1, round(fault.seconds))} if code == 429 else None
    raise StatusError(code, message, details=details)
