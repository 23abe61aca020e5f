"""Count the Pods that an object owns, and read how the containers of the worst of them ended.

No bodies are read but those of the worst Pods.
"""

from collections import Counter
from typing import Any, NamedTuple

import msgspec

from timeline.kinds import Container, kind_of, status_of
from timeline.kinds.pod import PodFacts
from timeline.models import Track
from timeline.payloads.documents import timestamp
from timeline.payloads.objects import ContainerPayload, PodsPayload
from timeline.queries.objects.attribution import anonymous, key_of
from timeline.queries.objects.lives import page
from timeline.queries.objects.owned import owned_by
from timeline.storage.entries import chunks

COUNTED = 1000  # the last Pods that began
READ = 200  # the worst of these, whose bodies are read
_CHUNKS = 64  # that are read for that
_SHOWN = 8  # rows about their containers
_NAMES = 3
_STARTING = {"", "ContainerCreating", "PodInitializing"}  # reasons to wait of every Pod


class _Pod(NamedTuple):
    row: Track
    facts: PodFacts
    revision: int | None  # of the last change of these facts
    by_itself: bool  # whether a container failed or was started again before the Pod was asked to end

    @property
    def troubled(self) -> bool:
        waits = self.row.life.upper is None and not self.facts.terminal and not self.facts.ready
        return self.facts.failed or self.facts.restarts > 0 or waits

    def badness(self) -> tuple[bool, bool, int]:
        failed = self.facts.phase == "Failed" and self.by_itself
        return failed, self.facts.failed and self.by_itself, self.facts.restarts

    @property
    def phase(self) -> str:
        gone = self.row.life.upper is not None and not self.facts.terminal
        return "deleted" if gone else kind_of("", "Pod").phase(self.facts).text


def pods(row: Track) -> PodsPayload | None:
    """Return what was observed of the Pods that a track owns, or of the Pod that it is; None if there are none."""
    if (row.group, row.kind) == ("", "Pod"):
        rows, total = [row], 1
    else:
        own = Track.objects.filter(source=row.source_id, group="", kind="Pod", id__in=owned_by(row, [row.id]))
        rows = list(own.order_by("-life", "-id")[:COUNTED])
        total = len(rows) if len(rows) < COUNTED else own.count()
    known = [pod for pod in map(_read, rows) if pod is not None]
    if not known:
        return None
    troubled = [pod for pod in known if pod.troubled]
    troubled.sort(key=_Pod.badness, reverse=True)
    found = _containers(row.source_id, troubled[:READ])
    return {
        "total": total,
        "counted": len(known),
        "phases": Counter(pod.phase for pod in known).most_common(),
        "failed": sum(pod.facts.failed for pod in known),
        "restarts": sum(pod.facts.restarts for pod in known),
        "restarted": sum(pod.facts.restarts > 0 for pod in known),
        "troubled": len(troubled),
        "read": len(found),
        "containers": _together(row.source_id, found),
    }


def _read(row: Track) -> _Pod | None:
    """Return a Pod with its last facts; None if no observation shows any."""
    stored: dict[str, Any] | None = None
    revision, by_itself = None, False
    for _, number, *_, facts in row.lifeline:
        if facts is not None:
            stored, revision = facts, number
            failed = facts.get("failed") or facts.get("restarts")
            by_itself = by_itself or bool(failed and not facts.get("deleting"))
    if not stored or not (stored.get("phase") or stored.get("node")):
        return None
    return _Pod(row, msgspec.convert(stored, PodFacts), int(revision) if revision else None, by_itself)


def _containers(source_id: int, troubled: list[_Pod]) -> list[tuple[_Pod, tuple[Container, ...]]]:
    """Return the containers of these Pods as their last body shows them, without Pods that have no stored body."""
    by_key = {key_of(pod.row.id): pod for pod in troubled if not anonymous(pod.row)}
    bodies: dict[int, tuple[int, bytes]] = {}
    wanted = set(by_key)
    for _, key, entry in chunks.newest(source_id, wanted, most=_CHUNKS):
        revision = entry.resource_version or 0
        if entry.body and key in wanted and (key not in bodies or revision > bodies[key][0]):
            bodies[key] = revision, entry.body
            if revision >= (by_key[key].revision or 0):
                wanted.discard(key)
    telling = kind_of("", "Pod").telling
    return [(pod, status_of(bodies[key][1], telling).containers) for key, pod in by_key.items() if key in bodies]


class _How(NamedTuple):
    """What the containers that are shown in one row have in common."""

    stopped: bool
    container: str
    exit_code: int | None
    signal: int
    reason: str


def _together(source_id: int, found: list[tuple[_Pod, tuple[Container, ...]]]) -> list[ContainerPayload]:
    """Return the containers that ended alike or wait alike together, the worst first."""
    groups: dict[_How, list[tuple[int, str, _Pod]]] = {}
    for pod, containers in found:
        for each in containers:
            if each.waiting not in _STARTING:
                how = _How(False, each.name, None, 0, each.waiting)
                groups.setdefault(how, []).append((0, each.waiting_message, pod))
            if each.ended and (each.ended.exit_code or each.restarts):
                how = _How(not pod.by_itself, each.name, each.ended.exit_code, each.ended.signal, each.ended.reason)
                groups.setdefault(how, []).append((each.ended.time, each.ended.message, pod))
    rows: list[ContainerPayload] = []
    for how, members in groups.items():
        names = sorted({pod.row.name for *_, pod in members})
        time, message, last = max(members, key=lambda each: (each[0], each[2].row.life.lower))
        rows.append(
            {
                "container": how.container,
                "exit_code": how.exit_code,
                "signal": how.signal,
                "reason": how.reason,
                "message": message,
                "stopped": how.stopped,
                "pods": len(members),
                "names": names[:_NAMES],
                "names_total": len(names),
                "time": timestamp(time) if time else None,
                "url": page(source_id, last.row.id),
            }
        )
    rows.sort(key=lambda each: (each["stopped"], -each["pods"], each["container"], each["exit_code"] or 0))
    return rows[:_SHOWN]
