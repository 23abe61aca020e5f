"""Recordings become entries: which format a file has, and how it is read."""

import importlib
import pkgutil
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

from collectors.formats.stream import Line, NotARecording, Recording, Skipped
from timeline.entries import Entry

__all__ = ["Format", "Line", "NotARecording", "Recording", "Skipped", "read"]


class Format(NamedTuple):
    name: str  # as a person says it
    sniff: Callable[[bytes], bool]
    read: Callable[[Iterator[Line], bool], Iterator[Entry | Skipped]]  # lines, whether bodies are wanted


@cache
def formats() -> tuple[Format, ...]:
    modules = [importlib.import_module(f"{__name__}.{module.name}") for module in pkgutil.iter_modules(__path__)]
    return tuple(module.FORMAT for module in modules if hasattr(module, "FORMAT"))


def read(path: Path, name: str, *, bodies: bool) -> tuple[Recording, Iterator[Entry | Skipped]]:
    """Open a recording and read it as a stream; `name` is what the person calls the file.

    Raises NotARecording when nothing in the file can be understood; the message says what it looks like instead.
    """
    recording = Recording(path, name)
    head = recording.head()
    for each in formats():
        if each.sniff(head):
            return recording, each.read(recording.lines(), bodies)
    recording.close()
    raise NotARecording(f"{name} is not a recording that Causeline knows: {looks_like(head)}.")


def looks_like(head: bytes) -> str:
    """What a file seems to be, in words that help the person who chose it."""
    known = {
        b"\x89PNG": "it is a PNG picture",
        b"\xff\xd8\xff": "it is a JPEG picture",
        b"%PDF": "it is a PDF document",
        b"\x7fELF": "it is a program",
    }
    for magic, words in known.items():
        if head.startswith(magic):
            return words
    text = head.lstrip()[:2000].lower()
    if text.startswith((b"<!doctype", b"<html", b"<?xml")):
        return "it is a web page or XML"
    if b"apiversion: v1" in text and b"kind: config" in text:
        return "it is a kubeconfig, which holds credentials; it was not kept"
    wants = "Causeline reads Kubernetes audit logs, one JSON event a line"
    return f"its first line is {head[:60]!r}. {wants}"
