"""This module says what should be stored of a replayed cluster that a worker watches, and what is stored of it."""

import json
from collections import Counter
from functools import cache
from pathlib import Path

from collectors.replay import Replay
from collectors.replay.commits import Tape, tape
from collectors.replay.serving import kubeconfig
from collectors.watch.server.api import Api
from tests.clients.reflecting import api_to
from timeline.core.entries import Change, Entry
from timeline.history.world.world import World
from timeline.judge import judge
from timeline.models import Cluster, Source, Stream, Track, unpacked
from timeline.storage.entries import chunks
from timeline.storage.exports import document

Seen = tuple[str, int | None, str]  # UID, revision, change


@cache
def taped(path: Path) -> Tape:
    return tape([(path, path.name)])


def connected(replay: Replay, folder: Path, name: str = "replayed", token_file: Path | None = None) -> Cluster:
    """Create the row of a cluster whose kubeconfig is a file in the folder."""
    file = folder / f"{name}.json"
    file.write_text(json.dumps(kubeconfig(replay.url, token_file=token_file)))
    return Cluster.objects.create(name=name, reference={"how": "path", "path": str(file), "context": ""})


def by_path(cluster: Cluster) -> Api:
    """Return the API of a cluster that is reached by the path of a kubeconfig."""
    return api_to(Path(cluster.reference["path"]))


def changes_of(source: Source) -> Counter[Seen]:
    """Return each stored change of the source's objects, with how often it is stored. Lists are not counted."""
    stored = (each for each in chunks.observations(source.pk) if isinstance(each, Entry))
    return Counter(
        (entry.ref.uid, entry.resource_version, entry.change.value)
        for entry in stored
        if entry.change is not Change.OBSERVED
    )


def doubled(source: Source) -> list[Seen]:
    """Return the changes that are stored twice.

    The time of a deletion is that of its arrival. If it arrives again at another worker, which estimates the clock
    of the server anew, this may be earlier; then both observations are stored, and merged into one change wherever
    it is shown.
    """
    found = []
    for (uid, revision, change), times in changes_of(source).items():
        if times > 1 and change == "deleted":
            lifelines = Track.objects.filter(source=source, uid=uid).values_list("lifeline", flat=True)
            times = sum(moment[2] == change for lifeline in lifelines for moment in unpacked(bytes(lifeline)))
        if times > 1:
            found.append((uid, revision, change))
    return found


def expected(tape: Tape, resources: set[str], begin: int = 0, end: int | None = None) -> Counter[Seen]:
    """Return what a watch of these resources receives between commit `begin` and commit `end`. Lists are not
    counted."""
    changes = {"ADDED": Change.CREATED, "MODIFIED": Change.MODIFIED, "DELETED": Change.DELETED}
    return Counter(
        (commit.uid, commit.revision, changes[commit.change].value)
        for commit in tape.commits[begin:end]
        if commit.resource.name in resources
    )


def watched(cluster: Cluster) -> set[str]:
    """Return the names of the resources that are watched for the cluster's current source."""
    rows = Stream.objects.filter(source__current_of=cluster, state="watching").values_list("resource", "group")
    return {f"{resource}.{group}".rstrip(".") for resource, group in rows}


def found(source: Source) -> set[tuple[str, str, str]]:
    """Return identity, verdict and status of the stored findings."""
    return {(each["id"], each["verdict"], each["status"]) for each in document(source)["findings"]}


def found_anew(source: Source) -> set[tuple[str, str, str]]:
    """Return the same for findings that are judged again from all stored entries at once."""
    world = World()
    for _ in world.learn(chunks.observations(source.pk)):
        pass
    world.settle()
    return {(each.id, each.verdict, each.status) for each in judge(world, world.tracks())}
