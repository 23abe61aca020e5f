"""This pure module combines the lanes of one owner and kind into a strip, if there are many."""

from collections import defaultdict
from collections.abc import Callable

from timeline.history.lifelines import Key, Name
from timeline.layout.places import CROWD

LaneKey = tuple[Name, Name]  # names of the root owner and of the lane itself
OwnedKind = tuple[Key, str, str]  # key of the owner; group and kind of the lanes


class Strips:
    """These are the lanes of each owner and kind, and the places of the strips that stand for them."""

    def __init__(self) -> None:
        self._lanes: dict[OwnedKind, dict[LaneKey, None]] = defaultdict(dict)
        self._owned: dict[LaneKey, OwnedKind] = {}
        self._places: dict[OwnedKind, int] = {}
        self._changed: dict[OwnedKind, None] = {}  # whose lanes are not what they were at the last `settle`
        self._dissolved: list[int] = []  # places of strips that are gone since the last `settle`

    def place_of(self, lane: LaneKey) -> int:
        """Return the place of the strip that stands for a lane, or 0."""
        owned = self._owned.get(lane)
        return self._places.get(owned, 0) if owned else 0

    def standing(self) -> dict[OwnedKind, int]:
        """Return the places of all strips."""
        return self._places

    def lanes(self, owned: OwnedKind) -> list[LaneKey]:
        """Return the lanes of one owner and kind, in no order."""
        return list(self._lanes.get(owned, ()))

    def enter(self, lane: LaneKey, owned: OwnedKind | None) -> None:
        """Note the owner and kind of a lane; None where nothing owns it."""
        if self._owned.get(lane) != owned:
            self.leave(lane)
            if owned:
                self._lanes[owned][lane] = None
                self._owned[lane] = owned
        if owned:
            self._changed[owned] = None

    def leave(self, lane: LaneKey) -> None:
        """Take out a lane that there is no more, or that has another owner now."""
        if owned := self._owned.get(lane):
            self._changed[owned] = None
            if (strip := self._take_out(lane)) is not None:
                self._dissolved.append(strip)

    def forget(self, lane: LaneKey) -> None:
        """Remove a lane from memory. What is stored of it and of its strip stays as it is."""
        self._take_out(lane)

    def _take_out(self, lane: LaneKey) -> int | None:
        """Return the place of the strip that is gone with its last lane, if there was one."""
        if (owned := self._owned.pop(lane, None)) is None:
            return None
        del self._lanes[owned][lane]
        if self._lanes[owned]:
            return None
        del self._lanes[owned]
        self._changed.pop(owned, None)
        return self._places.pop(owned, None)

    def settle(self, place: Callable[[LaneKey], int]) -> tuple[list[OwnedKind], list[LaneKey], list[int]]:
        """Decide anew which of the changed lanes stand as strips; `place` gives that of a lane.

        Return the strips to write, the lanes whose strip is another one now, and the places of strips that are gone.
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
        places = set(self._places.values()) if gone else set()
        return strips, moved, [each for each in gone if each not in places]
