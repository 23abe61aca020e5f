"""Recordings become entries: which format a file has, and how it is read."""

import importlib
import pkgutil
import re
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

from collectors.formats.stream import LINE_BYTES, Line, NotARecording, Recording, Skipped
from timeline.entries import Entry

__all__ = ["Format", "Line", "NotARecording", "Recording", "Skipped", "read"]


class Format(NamedTuple):
    name: str  # as a person says it
    sniff: Callable[[bytes], bool]
    read: Callable[[Iterator[Line | Skipped], bool], Iterator[Entry | Skipped]]  # lines, whether bodies are wanted


@cache
def formats() -> tuple[Format, ...]:
    modules = [importlib.import_module(f"{__name__}.{module.name}") for module in pkgutil.iter_modules(__path__)]
    return tuple(module.FORMAT for module in modules if hasattr(module, "FORMAT"))


def read(
    path: Path, name: str, *, bodies: bool, line_bytes: int = LINE_BYTES
) -> tuple[Recording, Iterator[Entry | Skipped]]:
    """Open a recording and read it as a stream; `name` is what the person calls the file.

    Raises NotARecording when nothing in the file can be understood; the message says what it looks like instead.
    """
    recording = Recording(path, name, line_bytes)
    head = recording.head()
    for each in formats():
        if each.sniff(head):
            return recording, each.read(recording.lines(), bodies)
    recording.close()
    raise NotARecording(f"{name} is not a recording that Causeline knows: {looks_like(head)}. {WANTED}")


WANTED = "Causeline reads Kubernetes audit logs, one JSON event a line."
_LOOKS = {
    b"\x89PNG": "it is a PNG picture",
    b"\xff\xd8\xff": "it is a JPEG picture",
    b"%PDF": "it is a PDF document",
    b"\x7fELF": "it is a program",
    b"PK\x03\x04": "it is a zip archive; unpack it first",
    b"BZh": "it is compressed by bzip2; unpack it first",
    b"\xfd7zXZ": "it is compressed by xz; unpack it first",
    b"\xff\xfe": "it is UTF-16 text, as PowerShell writes it; save it as UTF-8",
}
_MARKUP = re.compile(rb"\s*<(!doctype|html|\?xml)", re.IGNORECASE)
_KUBECONFIG = re.compile(rb"""["']?\bkind\b["']?\s*:\s*["']?Config\b""")
_YAML = re.compile(rb"(---|#|[\w.-]+:(\s|$))")


def looks_like(head: bytes) -> str:
    """What a file seems to be, in words that help the person who chose it. Never its content: that may be secret."""
    for magic, words in _LOOKS.items():
        if head.startswith(magic):
            return words
    if head[257:262] == b"ustar":
        return "it is a tar archive; unpack it first"
    if _MARKUP.match(head):
        return "it is a web page or XML"
    if _KUBECONFIG.search(head):
        return "it is a kubeconfig, which holds credentials; it was not kept"
    if not head.strip():
        return "it begins with nothing but blank lines"
    if head.lstrip().startswith((b"{", b"[")):
        return "it is JSON, but no audit event stands in it"
    if b"\0" in head:
        return "it is not text"
    return "it is YAML" if _YAML.match(head) else "it is not JSON"
