"""These tests explain each write that was refused with 409 Conflict in the small recordings of real control planes."""

from collections import Counter
from pathlib import Path

import pytest

from tests import DATA, ROOT
from tests.inputs.recordings import SAMPLE, observations_of, world_of
from timeline.core.entries import Request
from timeline.history.lifelines import Track, name_of
from timeline.history.world.world import World
from timeline.judging.requests import overtaken_by, refused_as_old, replaced_by


def reason(track: Track, request: Request, world: World) -> str:
    """Return whether the revision that a write named had been replaced before ("stale"), or while the request was under
    way ("race")."""
    replacing = None if request.named is None else replaced_by(track, request.named)
    if replacing:
        return "stale" if replacing.entry.staged < request.received else "race"
    return "stale" if overtaken_by(track, request, world) else "unknown"


def reasons(path: Path) -> Counter[str]:
    world = world_of(observed := observations_of(path))
    names = dict.fromkeys(name_of(each.ref) for each in observed if isinstance(each, Request))
    refused = [each for name in names for each in world.requests(name) if refused_as_old(each)]
    found: Counter[str] = Counter()
    for request in refused:
        tracks = (each for each in world.incarnations(name_of(request.ref)) if request.ref.uid in ("", each.ref.uid))
        every = [reason(track, request, world) for track in tracks]
        found[next((each for each in every if each != "unknown"), "unknown")] += 1
    return found


RECORDINGS = (
    (DATA / "engine/families.jsonl.zst", 5, 4),
    (DATA / "engine/jobs.jsonl.zst", 4, 1),
    (DATA / "shown/recording.jsonl.zst", 41, 0),
    (SAMPLE, 3, 2),
)


@pytest.mark.parametrize(("path", "stale", "race"), RECORDINGS, ids=lambda each: getattr(each, "stem", ""))
def test_each_conflict_is_explained(path: Path, stale: int, race: int) -> None:
    assert reasons(path) == Counter(stale=stale, race=race) + Counter()


def test_the_docs_give_these_numbers() -> None:
    stale, race = sum(each for _, each, _ in RECORDINGS), sum(each for _, _, each in RECORDINGS)
    text = " ".join((ROOT / "docs/decisions/0025-copies-not-views.md").read_text(encoding="utf-8").split())
    assert f"Of the {stale + race} in the small recordings among the tests, {stale} were stale and {race} raced" in text
