"""A replayed cluster that is followed: what must have been seen of it, and what was stored."""

import json
from collections import Counter
from functools import cache
from pathlib import Path

from collectors.replay import Replay
from collectors.replay.commits import Tape, tape
from collectors.replay.serving import kubeconfig
from collectors.watch.api import Api
from tests.reflecting import api_to
from timeline.core.entries import Change, Entry
from timeline.history.world import World
from timeline.judge import judge
from timeline.models import Cluster, Source, Stream
from timeline.storage import chunks
from timeline.storage.exports import document

Seen = tuple[str, int | None, str]  # UID, revision, change


@cache
def taped(path: Path) -> Tape:
    return tape([(path, path.name)])


def connected(replay: Replay, folder: Path, name: str = "replayed", token_file: Path | None = None) -> Cluster:
    """The row of a cluster that is reached by a kubeconfig in a folder."""
    file = folder / f"{name}.json"
    file.write_text(json.dumps(kubeconfig(replay.url, token_file=token_file)))
    return Cluster.objects.create(name=name, reference={"how": "path", "path": str(file), "context": ""})


def by_path(cluster: Cluster) -> Api:
    """How such a cluster is reached."""
    return api_to(Path(cluster.reference["path"]))


def changes_of(source: Source) -> Counter[Seen]:
    """Each change of the source's objects as often as it is stored; what a list showed is not one."""
    stored = (each for each in chunks.observations(source.pk) if isinstance(each, Entry))
    return Counter(
        (entry.ref.uid, entry.resource_version, entry.change.value)
        for entry in stored
        if entry.change is not Change.OBSERVED
    )


def expected(tape: Tape, resources: set[str], begin: int = 0, end: int | None = None) -> Counter[Seen]:
    """What a watch that began after so many commits tells of these resources until so many; lists not counted."""
    changes = {"ADDED": Change.CREATED, "MODIFIED": Change.MODIFIED, "DELETED": Change.DELETED}
    return Counter(
        (commit.uid, commit.revision, changes[commit.change].value)
        for commit in tape.commits[begin:end]
        if commit.resource.name in resources
    )


def watched(cluster: Cluster) -> set[str]:
    """The resources of its current source that are watched."""
    rows = Stream.objects.filter(source__current_of=cluster, state="watching").values_list("resource", "group")
    return {f"{resource}.{group}".rstrip(".") for resource, group in rows}


def found(source: Source) -> set[tuple[str, str, str]]:
    """Identity, verdict and status of what is found, as it is stored."""
    return {(each["id"], each["verdict"], each["status"]) for each in document(source)["findings"]}


def found_anew(source: Source) -> set[tuple[str, str, str]]:
    """The same, of all that is stored, taken in at once."""
    world = World()
    for _ in world.learn(chunks.observations(source.pk)):
        pass
    world.settle()
    return {(each.id, each.verdict, each.status) for each in judge(world, world.tracks())}
