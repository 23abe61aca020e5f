"""`python -m tests.servers.worker` is the worker of a live source, which does what a test tells it.

It commits the sample as if it happened now. Each line of its input and of its output is JSON; an input is [command,
argument, …].
"""

import json
import re
import sys
import tempfile
import time
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import django

from tests.inputs.recordings import SAMPLE, entries_of, lines_of

if TYPE_CHECKING:
    from collections.abc import Callable

BEGAN = datetime.fromisoformat("2026-11-21T07:51:33+00:00")  # roughly the beginning of the sample
TIME = re.compile(rb'"(20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?)Z"')


def moved(found: re.Match[bytes], by: timedelta) -> bytes:
    """Return the text of a time that `TIME` has matched, moved by the distance between the sample and now."""
    at = datetime.fromisoformat(found[1].decode() + "+00:00") + by
    digits = len(found[1].partition(b".")[2])
    return f'"{at:%Y-%m-%dT%H:%M:%S}{f".{at:%f}"[: digits + 1] if digits else ""}Z"'.encode()


def shifted(by: timedelta) -> bytes:
    """Return the sample with all times shifted."""
    return b"\n".join(TIME.sub(lambda found: moved(found, by), line) for line in lines_of(SAMPLE)) + b"\n"


class Worker:
    def __init__(self) -> None:
        from tests.rows.following import Followed

        self._followed = Followed
        self._live: Any = None
        self._entries: list[Any] = []
        self._start = 0.0
        self._revision = 1_000_000

    def begin(self, name: str, ago: float) -> int:
        """Create a source whose recording began this many seconds ago, and return its id."""
        self._start = time.time() - ago
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "audit.jsonl"
            path.write_bytes(shifted(datetime.fromtimestamp(self._start, BEGAN.tzinfo) - BEGAN))
            self._entries = sorted(entries_of(path), key=lambda entry: entry.staged)
        self._touched = next(entry for entry in self._entries if entry.ref.name == "vs-online" and entry.facts)
        self._live = self._followed(name)
        return int(self._live.source.pk)

    def until(self, seconds: float) -> int:
        """Commit what happened in the first `seconds` of the recording, and return the sequence."""
        end = (self._start + seconds) * 1_000_000
        batch = [entry for entry in self._entries if entry.staged <= end]
        self._entries = self._entries[len(batch) :]
        return int(self._live.commit(batch))

    def touch(self) -> int:
        """Commit another change of an existing object, and return the sequence."""
        from msgspec.structs import replace

        now = int(time.time() * 1_000_000)
        self._revision += 1
        changed = replace(self._touched, resource_version=self._revision, received=now, staged=now + 1_000)
        return int(self._live.commit([replace(changed, identity=f"touch {self._revision}", replaces=None)]))

    def create(self, name: str) -> int:
        """Commit the creation of another Deployment, and return the sequence."""
        from msgspec.structs import replace

        from timeline.core.entries import Change

        now = int(time.time() * 1_000_000)
        self._revision += 1
        ref = replace(self._touched.ref, name=name, uid=f"uid-of-{name}")
        born = replace(self._touched, ref=ref, change=Change.CREATED, resource_version=self._revision, replaces=None)
        return int(self._live.commit([replace(born, received=now, staged=now + 1_000, identity=f"create {name}")]))

    def play(self, seconds: float) -> int:
        """Commit what happens now ten times a second, for this many seconds."""
        over = time.time() + seconds
        sequence = 0
        while time.time() < over:
            sequence = self.until(time.time() - self._start)
            time.sleep(0.1)
        return sequence

    def cluster(self, **columns: Any) -> int:
        from timeline.models import Cluster
        from timeline.storage import notify

        Cluster.objects.filter(pk=self._live.cluster.pk).update(**columns)
        notify.notify(cluster=self._live.cluster.pk)
        return 0

    def end(self, why: str) -> int:
        """End the source, so that another source takes its place."""
        from timeline.models import Cluster
        from timeline.storage import live

        return int(live.begin(Cluster.objects.get(pk=self._live.cluster.pk), why).pk)

    def grant(self, name: str, namespace: str) -> int:
        """Make an account a viewer of one namespace of the cluster that the source watches; return the grant's id."""
        from django.contrib.auth.models import User

        from tests.rows.people import grant

        user = User.objects.get(username=name)
        return int(grant(user, "viewer", on=self._live.cluster, namespaces=[namespace]).pk)

    def sign_out(self) -> int:
        """Delete all sessions."""
        from django.contrib.sessions.models import Session

        Session.objects.all().delete()
        return 0

    def gap(self, kind: str, since: float, until: float) -> int:
        """Record that a kind was not observed between two times, in seconds since the beginning, and return the
        sequence."""
        from timeline.core.entries import Mark, MarkType

        start, end = (int((self._start + each) * 1_000_000) for each in (since, until))
        return int(
            self._live.commit([Mark("", "v1", kind, MarkType.GAP, end, since=start, reason="The watch was away.")])
        )


def main() -> None:
    django.setup(set_prefix=False)
    worker = Worker()
    for line in sys.stdin:
        deed, *arguments = json.loads(line)
        act: Callable[..., int] = getattr(worker, deed)
        answer = act(**arguments[0]) if arguments and isinstance(arguments[0], dict) else act(*arguments)
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
