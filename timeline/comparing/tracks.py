"""Make runs of a world: of one of its owners, or of all of them. It does no I/O."""

import zlib
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence

from timeline.comparing.lives import OBSERVED, Change, Found, Life, Relation, Run, Tree, actor_name, is_state, life
from timeline.comparing.specs import spec_of
from timeline.core.entries import Entry
from timeline.history.lifelines import Key, Track, name_of
from timeline.history.world.world import World
from timeline.judging.coverage.sources import coverage
from timeline.judging.findings import Finding
from timeline.kinds import NOISE

MOST = 10_000  # the most objects of one tree
RELATED = 500  # the most objects that the tree needs, or that need its root
SPECS = 100  # the objects of one owner and kind whose specs are compared, the first ones
FURNITURE = {"kube-root-ca.crt", "openshift-service-ca.crt", "default"}  # each namespace has these


class Bodies:
    """Keep the first and the last state of each object while a recording is read, in any order."""

    def __init__(self, namespaces: Iterable[str] = ()) -> None:
        """Keep the states of objects in these namespaces and of cluster-scoped objects; without namespaces, of all."""
        self._namespaces = {*namespaces}
        self._kept: dict[tuple[str, str], list[tuple[tuple[int, int], bytes]]] = {}

    def add(self, entry: Entry) -> None:
        ref = entry.ref
        if (
            not entry.body
            or ref.kind == "Secret"
            or (self._namespaces and ref.namespace not in self._namespaces | {""})
        ):
            return
        place = entry.resource_version or 0, entry.received
        kept = self._kept.setdefault(_key(ref.uid, ref.kind, ref.namespace, ref.name), [])
        if len(kept) < 2 or place < kept[0][0] or place > kept[1][0] or place in (kept[0][0], kept[1][0]):
            kept.append((place, zlib.compress(entry.body, 1)))
            kept.sort()
            del kept[1:-1]

    def of(self, track: Track) -> list[bytes]:
        ref = track.ref
        return [
            zlib.decompress(body) for _, body in self._kept.get(_key(ref.uid, ref.kind, ref.namespace, ref.name), ())
        ]


def _key(uid: str, kind: str, namespace: str, name: str) -> tuple[str, str]:
    return uid, "" if uid else f"{kind}/{namespace}/{name}"


def owner_run(world: World, root: Track, findings: Sequence[Finding], bodies: Bodies, label: str) -> Run:
    """Return the run of one owner: everything that it owns, what these objects need, and what needs the owner."""
    return Run(label, [_Trees(world, findings, bodies).tree(root, users=True)], _kinds(world), world.first, world.last)


def recording_run(world: World, findings: Sequence[Finding], bodies: Bodies, label: str) -> Run:
    """Return the run of a whole world: a tree for each owner that has no owner itself."""
    trees = _Trees(world, findings, bodies)
    roots = [track for track in world.tracks() if is_compared(track) and world.root(track) is track]
    return Run(label, [trees.tree(root) for root in roots], _kinds(world), world.first, world.last)


def is_compared(track: Track) -> bool:
    """Return whether an object belongs to the work that is compared, and not to the furniture of cluster and
    namespace."""
    return track.family not in NOISE and track.ref.name not in FURNITURE


def _uses(track: Track, root: Track) -> bool:
    """Return whether an object that refers to the name of a root existed at a time at which the root existed."""
    if not is_compared(track) or track.ref.kind in OBSERVED:
        return False
    began = root.until is None or track.first.time <= root.until
    return began and (track.until is None or root.first.time <= track.until)


def _kinds(world: World) -> dict[tuple[str, str], bool]:
    """Return the kinds whose objects were observed, and whether none of their writes is missing."""
    return {(row.group, row.kind): row.complete for row in coverage(world) if row.level != "Metadata"}


class _Trees:
    def __init__(self, world: World, findings: Sequence[Finding], bodies: Bodies) -> None:
        self._world = world
        self._bodies = bodies
        self._findings: dict[Key, list[Finding]] = defaultdict(list)
        for each in findings:
            self._findings[name_of(each.subject), each.subject.uid].append(each)
        self._belonging: dict[Key, list[Track]] = defaultdict(list)
        for track in world.tracks():
            if is_compared(track) and (owner := world.owner_of(track)):
                self._belonging[owner.key].append(track)

    def tree(self, root: Track, *, users: bool = False) -> Tree:
        owned: list[tuple[Track, str]] = [(root, "")]
        known = {root.key}
        for track, _ in owned:  # the list grows while it is read
            for child in self._belonging[track.key]:
                if child.key not in known:
                    known.add(child.key)
                    owned.append((child, _text(track.key)))
        owned, cut = owned[:MOST], len(owned) > MOST
        needed = self._needed([track for track, _ in owned], known)
        using = [each for each in self._world.referrers(root.name) if each.key not in known and _uses(each, root)]
        related: list[tuple[Track, Relation]] = [(track, "needed") for track in needed[:RELATED]]
        if users:
            related += [(track, "needs it") for track in sorted(using, key=_place)[:RELATED]]
            cut = cut or len(using) > RELATED
        reads = first_of_each(SPECS)
        lives = [
            self._life(track, parent, "owned", reads) for track, parent in sorted(owned, key=lambda one: _place(one[0]))
        ]
        lives += [self._life(track, "", relation, reads) for track, relation in related]
        found = [
            Found(each.id, each.rule, each.severity, each.summary)
            for track in [*(track for track, _ in owned), *(track for track, _ in related)]
            for each in self._findings.get(track.key, ())
        ]
        of_root = next(each for each in lives if each.key == _text(root.key))
        return Tree(of_root, lives, found, cut or len(needed) > RELATED)

    def _needed(self, owned: Sequence[Track], known: set[Key]) -> list[Track]:
        """Return the objects that these objects refer to: of each name, the last incarnation before the end of the
        first one that refers to it."""
        found: dict[Key, Track] = {}
        for track in owned:
            for name in track.references():
                lives = [each for each in self._world.incarnations(name) if is_compared(each)]
                until = track.until
                before = [each for each in lives if until is None or each.first.time <= until]
                if lives:
                    one = (before or lives[:1])[-1]
                    if one.key not in known:
                        found.setdefault(one.key, one)
        return sorted(found.values(), key=_place)

    def _life(self, track: Track, parent: str, relation: Relation, reads: Callable[[str, str], bool]) -> Life:
        spec = None
        if reads(parent, track.ref.kind):
            created = track.created.facts if track.created and is_state(track.created.facts) else None
            spec = spec_of(track.ref, track.owner, self._bodies.of(track), created)
        changes = [
            Change(
                each.change.value,
                each.action,
                each.time,
                *each.committed,
                each.entry.resource_version,
                each.space,
                each.facts,
                actor_name(each.entry),
            )
            for each in track.moments
        ]
        return life(_text(track.key), track.ref, parent, relation, track.kind, changes, spec)


def first_of_each(most: int) -> Callable[[str, str], bool]:
    """Return a function that says whether an object is one of the first of its owner and kind."""
    counts: dict[tuple[str, str], int] = defaultdict(int)

    def counted(parent: str, kind: str) -> bool:
        counts[parent, kind] += 1
        return counts[parent, kind] <= most

    return counted


def _place(track: Track) -> tuple[int, int, str]:
    return *track.first.at, track.ref.name


def _text(key: Key) -> str:
    return "/".join((*key[0], key[1]))


def incarnation(lives: Sequence[Track], number: int) -> Track | None:
    """Return one of the incarnations of a name, counted from 1, or from the last one with negative numbers."""
    at = number - 1 if number > 0 else len(lives) + number
    return lives[at] if 0 <= at < len(lives) else None
