"""Find objects in a world by words or by the labels of an alert, and say what is known of one. It does no I/O."""

from collections.abc import Mapping, Sequence

from collectors.alerts.objects import named_objects
from collectors.analysis import Analysis
from dashboard.agents.reader import Payload
from timeline.history.lifelines import Track, public_uid
from timeline.history.world.world import World
from timeline.kinds import address, kind_of
from timeline.payloads.documents import object_payload
from timeline.payloads.findings import FindingGroupPayload

FOUND = 20  # the most hits of each sort
FEW = 50  # the most children that are listed


def life(world: World, track: Track) -> Payload:
    """Return one incarnation of an object in short."""
    return {
        "track": world.number(track),
        "root": world.number(world.root(track)),
        "object": object_payload(track.ref),
        "start": track.first.time,
        "end": track.until,
    }


def payload(analysis: Analysis, track: Track) -> Payload:
    """Return what is known of one incarnation of an object."""
    world = analysis.world
    owner, children = world.owner_of(track), world.children(track)
    uid = track.ref.uid
    naming = [
        found
        for found in analysis.findings
        if uid in {found.subject.uid, *([found.other.uid] if found.other else []), *(ref.uid for ref in found.affects)}
    ]
    return {
        **life(world, track),
        "phase": kind_of(track.ref.group, track.ref.kind).phase(track.last.facts).text,
        "created": track.created is not None,
        "writer": track.last.entry.writer,
        "incarnations": [life(world, each) for each in world.incarnations(track.name)],
        "owner": life(world, owner) if owner else None,
        "children": [life(world, each) for each in children[:FEW]],
        "children_total": len(children),
        "needs": [name._asdict() for name in sorted(track.references())],
        "findings": [{"id": each.id, "rule": each.rule, "severity": each.severity} for each in naming[:FEW]],
        "url": "",
    }


def search(world: World, findings: Sequence[FindingGroupPayload], text: str) -> Payload:
    """Return the objects, findings and actors that match every word of a text."""
    words = text.lower().replace("/", " ").split()[:8]
    matching = [track for track in world.tracks() if all(_is_found(track, word) for word in words)] if words else []
    writers = sorted({moment.entry.writer for track in world.tracks() for moment in track.moments} - {""})
    return {
        "objects": [life(world, track) for track in matching[:FOUND]],
        "findings": [row for row in findings if all(word in row["summary"].lower() for word in words)][:FOUND],
        "actors": [{"name": name} for name in writers if all(word in name.lower() for word in words)][:FOUND],
        "more": len(matching) > FOUND,
    }


def _is_found(track: Track, word: str) -> bool:
    ref = track.ref
    if word in ref.name.lower() or word in ref.namespace.lower() or kind_of(ref.group, ref.kind).is_meant(word):
        return True
    if len(word) > 7 and public_uid(ref).lower().startswith(word):
        return True
    return any(word in clue.lower() for clue in track.clues()) or (address(word) or "none") in track.addresses()


def resolve(world: World, labels: Mapping[str, str], at: int | None) -> Payload:
    """Return what labels name: the incarnation that existed at a time (µs since 1970), else the one that ended last
    before it, else the first one. It has the shape of `ResolvedPayload`, without addresses."""
    namespace, targets = named_objects(labels)
    when = world.last if at is None else at
    found: list[Track] = next(filter(None, (_named(world, each, namespace) for each in targets)), [])
    found = sorted(found, key=lambda track: (_place(track, when), track.key))
    choices = [_match(track, world, when) for track in found]
    names = {track.name for track in found}
    certain = bool(choices) and len(names) == 1
    unknown = f"No object that is named {' or '.join(targets)} was observed in the recording." if not found else ""
    several = "More than one object fits, and the labels do not say which." if len(names) > 1 else ""
    return {
        "link": "",
        "match": {**choices[0], "incidents": [], "incarnations": len(choices)} if certain else None,
        "choices": [] if certain else choices[:FEW],
        "choices_total": 0 if certain else len(choices),
        "reason": unknown or several,
    }


def _named(world: World, target: str, namespace: str) -> list[Track]:
    """Return the objects that a text such as "pod/train-0", "uid/…" or "ip/10.0.0.1" names."""
    kind, _, name = target.partition("/")
    match kind:
        case "uid":
            return [track for track in world.tracks() if public_uid(track.ref) == name]
        case "ip":
            return [track for track in world.tracks() if name in track.addresses()]
    return [
        track
        for track in world.tracks()
        if track.ref.name == name
        and kind_of(track.ref.group, track.ref.kind).is_meant(kind)
        and (not namespace or track.ref.namespace in (namespace, ""))
    ]


def _place(track: Track, at: int) -> tuple[int, int]:
    """Return whether a track existed at a time (0), had ended (1) or began later (2), and how far apart they are."""
    if track.first.time > at:
        return 2, track.first.time - at
    if track.until is not None and track.until < at:
        return 1, at - track.until
    return 0, 0


def _match(track: Track, world: World, at: int) -> Payload:
    relation, apart = _place(track, at)
    return {**life(world, track), "relation": ("alive", "ended", "began")[relation], "apart": apart, "url": ""}
