"""Decide which lanes of one owner, kind and namespace are combined into a strip, because there are many. It does no
I/O."""

from collections import defaultdict
from collections.abc import Callable

from timeline.history.lifelines import Key, Name
from timeline.layout.places import CROWD

LaneKey = tuple[Name, Name]  # the name of the root owner, and that of the lane itself
# The key of the owner, and API group, kind and namespace of the lanes: what belongs to a Node, for example, may be in
# several namespaces, and not everybody may see all of these.
OwnedKind = tuple[Key, str, str, str]


class Strips:
    """Keep the lanes of each owner and kind, and the places of the strips that combine them."""

    def __init__(self) -> None:
        self._lanes: dict[OwnedKind, dict[LaneKey, None]] = defaultdict(dict)
        self._owned: dict[LaneKey, OwnedKind] = {}
        self._places: dict[OwnedKind, int] = {}
        self._changed: dict[OwnedKind, None] = {}  # those whose lanes have changed since the last `settle`
        self._dissolved: list[int] = []  # the places of strips that have lost their last lane since the last `settle`

    def place_of(self, lane: LaneKey) -> int:
        """Return the place of the strip that a lane belongs to; 0 for none."""
        owned = self._owned.get(lane)
        return self._places.get(owned, 0) if owned else 0

    def places(self) -> dict[OwnedKind, int]:
        return self._places

    def lanes(self, owned: OwnedKind) -> list[LaneKey]:
        """Return the lanes of one owner and kind, in no order."""
        return list(self._lanes.get(owned, ()))

    def enter(self, lane: LaneKey, owned: OwnedKind | None) -> None:
        """Set the owner and kind of a lane; None if it has no owner."""
        if self._owned.get(lane) != owned:
            self.leave(lane)
            if owned:
                self._lanes[owned][lane] = None
                self._owned[lane] = owned
        if owned:
            self._changed[owned] = None

    def leave(self, lane: LaneKey) -> None:
        """Remove a lane that no longer exists, or that has another owner now."""
        if owned := self._owned.get(lane):
            self._changed[owned] = None
            if (strip := self._take_out(lane)) is not None:
                self._dissolved.append(strip)

    def forget(self, lane: LaneKey) -> None:
        """Forget a lane. Its rows in the database, and those of its strip, stay as they are."""
        self._take_out(lane)

    def _take_out(self, lane: LaneKey) -> int | None:
        """Remove a lane; return the place of its strip if that has no lanes left, else None."""
        if (owned := self._owned.pop(lane, None)) is None:
            return None
        del self._lanes[owned][lane]
        if self._lanes[owned]:
            return None
        del self._lanes[owned]
        self._changed.pop(owned, None)
        return self._places.pop(owned, None)

    def settle(self, place: Callable[[LaneKey], int]) -> tuple[list[OwnedKind], list[LaneKey], list[int]]:
        """Decide which of the owners and kinds that have changed form strips. `place` returns the place of a lane.

        Return the strips to write, the lanes whose strip has changed, and the places of strips that no longer exist.
        """
        strips: list[OwnedKind] = []
        moved: list[LaneKey] = []
        gone = self._dissolved
        for owned in self._changed:
            lanes, before = self._lanes[owned], self._places.get(owned)
            now = min(map(place, lanes)) - 1 if len(lanes) > CROWD else None
            if before != now:
                moved += lanes
                if before is not None:
                    gone.append(before)
                    del self._places[owned]
                if now is not None:
                    self._places[owned] = now
            if now is not None:
                strips.append(owned)
        self._changed, self._dissolved = {}, []
        taken = set(self._places.values()) if gone else set()
        return strips, moved, [each for each in gone if each not in taken]
