"""Answer requests for static files from memory, before Django handles them.

The page of a timeline asks for a hundred small files. Each would pass through all middleware in a thread, which takes
1.4 ms of the process that has to compute the page's data meanwhile.
"""

import gzip
from asyncio import to_thread
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from hashlib import blake2b
from mimetypes import guess_type
from pathlib import Path
from typing import Any

import zstandard
from django.conf import settings
from django.contrib.staticfiles.finders import find, get_finders
from django.contrib.staticfiles.storage import StaticFilesStorage

PREFIX = "/static/"
_TYPES = {"js": "text/javascript", "woff2": "font/woff2", "md": "text/markdown"}  # not all systems know these
_PACKED = {"woff2", "png", "zst"}  # files that are compressed already
_LEAST = 500  # bytes of a file that is worth compressing
_HOLD, _HOLD_FOR_EVER = "max-age=60, public", "max-age=31536000, public, immutable"
_CODINGS: dict[str, Callable[[bytes], bytes]] = {  # the best first
    "zstd": lambda body: zstandard.compress(body, 12),
    "gzip": lambda body: gzip.compress(body, 9, mtime=0),
}
Application = Callable[[Any, Any, Any], Awaitable[None]]


@dataclass
class _File:
    """One file, with its compressed forms once somebody has asked for them."""

    body: bytes
    headers: list[tuple[bytes, bytes]]
    packs: bool  # whether it becomes smaller
    packed: dict[str, bytes] = field(default_factory=dict)

    async def form(self, accepted: set[str]) -> tuple[str, bytes]:
        """Return a coding that the browser accepts, "" for none, and the bytes in that coding."""
        coding = next((coding for coding in _CODINGS if self.packs and coding in accepted), "")
        if not coding:
            return "", self.body
        if coding not in self.packed:
            self.packed[coding] = await to_thread(_CODINGS[coding], self.body)
        return coding, self.packed[coding]


@cache
def contents() -> Mapping[str, bytes]:
    """Return the contents of all static files, by the path below /static/."""
    found: dict[str, bytes] = {}
    for finder in get_finders():
        for path, storage in finder.list([]):
            name = path.replace("\\", "/")
            if name not in found:  # the first finder wins
                with storage.open(path) as file:
                    found[name] = file.read()
    return found


@cache
def version() -> str:
    """Return what stands in the addresses of static files, and changes with any of them."""
    digest = blake2b(digest_size=8)
    for name, body in sorted(contents().items()):
        digest.update(f"{name}\0{len(body)}\0".encode() + body)
    return digest.hexdigest()


class Storage(StaticFilesStorage):
    """Put the version into the addresses of static files, so that browsers keep them for ever.

    Modules and style sheets name each other by relative paths, so these lead to files of the same version.
    """

    def url(self, name: str | None) -> str:
        return f"{PREFIX}{version()}/{name}"


class StaticFiles:
    """Answer requests for static files, as an ASGI application that hands all others on.

    The addresses without a version, and those of another version that runs on other machines during an upgrade, lead to
    the same files, which browsers then ask for again after a minute.
    """

    def __init__(self, application: Application) -> None:
        self._application = application
        self._files = {name: _file(name, body) for name, body in contents().items()}

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        found = self._find(scope)
        if found is None:
            return await self._application(scope, receive, send)
        file, hold = found
        given = {name: value.decode("latin-1") for name, value in scope["headers"]}
        coding, body = await file.form(
            {each.partition(";")[0].strip() for each in given.get(b"accept-encoding", "").split(",")}
        )
        tag = dict(file.headers)[b"etag"].decode()
        headers = [*file.headers, (b"cache-control", hold.encode())]
        if coding:
            headers.append((b"content-encoding", coding.encode()))
        known = tag in {each.strip().removeprefix("W/") for each in given.get(b"if-none-match", "").split(",")}
        if not known:
            headers.append((b"content-length", str(len(body)).encode()))
        await send({"type": "http.response.start", "status": 304 if known else 200, "headers": headers})
        await send({"type": "http.response.body", "body": b"" if known or scope["method"] == "HEAD" else body})
        return None

    def _find(self, scope: Any) -> tuple[_File, str] | None:
        """Return the file that a request asks for, and how long browsers may keep it; None for other requests."""
        if scope["method"] not in {"GET", "HEAD"} or not scope["path"].startswith(PREFIX):
            return None
        if settings.SECURE_SSL_REDIRECT and scope["scheme"] != "https":
            return None  # Django redirects it
        name = scope["path"].removeprefix(PREFIX)
        asked = ""
        if name not in self._files:
            asked, _, name = name.partition("/")
        if name not in self._files or len(asked) not in {0, len(version())}:
            return None
        if settings.DEBUG and (path := find(name)):  # the file may have been edited since
            return _file(name, Path(path).read_bytes()), "no-cache"
        return self._files[name], _HOLD_FOR_EVER if asked == version() else _HOLD


def _file(name: str, body: bytes) -> _File:
    ending = name.rpartition(".")[2]
    kind = _TYPES.get(ending) or guess_type(name)[0] or "application/octet-stream"
    if kind.startswith("text/"):
        kind += '; charset="utf-8"'
    headers = {
        "content-type": kind,
        "etag": f'"{blake2b(body, digest_size=16).hexdigest()}"',
        "vary": "Accept-Encoding",
        "access-control-allow-origin": "*",  # frames without an origin of their own load modules and fonts, too
        "x-content-type-options": "nosniff",
        "cross-origin-opener-policy": "same-origin",
        "referrer-policy": "same-origin",
    }
    if settings.SECURE_HSTS_SECONDS:
        headers["strict-transport-security"] = f"max-age={settings.SECURE_HSTS_SECONDS}; includeSubDomains; preload"
    encoded = [(header.encode(), value.encode()) for header, value in headers.items()]
    return _File(body, encoded, packs=ending not in _PACKED and len(body) >= _LEAST)
