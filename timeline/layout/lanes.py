"""Build the rows of a window: lanes and strips, their keys, and the headings above them. It does no I/O."""

from collections.abc import Mapping
from typing import NamedTuple

from timeline.kinds import kind_of, qualified
from timeline.layout.furniture import is_furniture
from timeline.payloads.windows import FoldedPayload, GroupPayload, LanePayload

RootOwner = tuple[str, str, str, str, int]  # a root owner: API group, kind, namespace, name and track number


def lane_key(group: str, kind: str, namespace: str, name: str) -> str:
    """Return the key of a lane, which is that of `LanePayload`, such as "Pod/shop/web-0"."""
    return f"{full(group, kind)}/{namespace}/{name}"


def full(group: str, kind: str) -> str:
    """Return a kind with its API group, if that is not the core group: "Pod", "Job.batch". The keys of lanes begin with
    it."""
    return f"{kind}.{group}" if group else kind


class Folded(NamedTuple):
    """How many lanes are folded, or were before a reader unfolded them."""

    quiet: int  # lanes without a change in view
    furniture: int  # furniture that has changed in view, such as the ConfigMap kube-root-ca.crt


class Count(NamedTuple):
    """How many lanes are under a heading."""

    lanes: int  # shown or not
    folded: Folded = Folded(0, 0)


class LaneRow(NamedTuple):
    """A row of a window: a lane, a strip that stands for many lanes, or the heading of a closed group."""

    lane: int  # the number of the lane; 0 for a strip and for a closed group
    root: int  # the track number of the first incarnation of its root owner
    heading: str  # the key of the heading above it
    number: int  # creation number within the root owner's group
    group: str
    kind: str
    namespace: str
    name: str  # for a strip: the name of the owner
    family: str
    strip: int = 0  # the place of the strip that this row is or belongs to; 0 for none
    members: int = 1  # how many lanes this row stands for; 0 for a closed group
    opened: bool = False  # whether this is a strip whose lanes are shown after it
    pinned: bool = False
    creator: str = ""  # who created the first object of the lane; "" if that was not observed

    @property
    def key(self) -> str:
        """Return the key of the row, as `LanePayload` has it."""
        key = lane_key(self.group, self.kind, self.namespace, self.name)
        return key if self.lane else f"{key}/{self.strip}"


def lane_payloads(rows: list[LaneRow]) -> list[LanePayload]:
    """Return the payloads of the rows, in which `Drawing` later fills in what it knows from their tracks."""
    strips = {row.strip: row.key for row in rows if not row.lane}
    return [_lane_payload(row, strips.get(row.strip, "") if row.lane else "") for row in rows]


def _lane_payload(row: LaneRow, strip: str) -> LanePayload:
    about = qualified(row.group, row.kind)
    return {
        "key": row.key,
        "group": row.heading,
        "number": row.number,
        "short": kind_of(row.group, row.kind).short,
        "family": row.family,
        "kind": row.kind,
        "namespace": row.namespace,
        "name": row.name,
        "subtitle": about if row.lane else f"{row.members} {about} objects",
        "track": 0,
        "members": row.members,
        "opened": row.opened,
        "strip": strip,
        "pinned": row.pinned,
        "creator": row.creator,
        "furniture": bool(row.lane) and is_furniture(row.group, row.kind, row.namespace, row.name),
        "quiet": False,
    }


def folded_payload(folded: Folded) -> FoldedPayload:
    return {"quiet": folded.quiet, "furniture": folded.furniture}


def group_payloads(
    page: list[LaneRow], pins: int, counts: Mapping[str, Count], roots: Mapping[int, RootOwner], unnamed: str
) -> list[GroupPayload]:
    """Return the headings above the rows of a page, which begins after `pins` pinned rows.

    `counts` has the numbers of lanes under each heading. `roots` has the root owners by `LaneRow.root`; it is empty
    unless lanes are grouped by owner. `unnamed` is the label of the heading with an empty key.
    """
    groups: list[GroupPayload] = []
    index = pins
    for row in page:
        if not groups or groups[-1]["key"] != row.heading:
            groups.append(_group_payload(row, counts.get(row.heading, Count(0)), index, roots.get(row.root), unnamed))
        index += bool(row.members)
    return groups


def _group_payload(row: LaneRow, count: Count, first: int, root: RootOwner | None, unnamed: str) -> GroupPayload:
    group, kind, namespace, name, track = root or ("", "", "", row.heading or unnamed, None)
    return {
        "key": row.heading,
        "short": kind_of(group, kind).short if root else "",
        "label": name,
        "namespace": namespace,
        "lanes": count.lanes,
        "folded": folded_payload(count.folded),
        "track": track,
        "first": first,
        "closed": not row.members,
    }
