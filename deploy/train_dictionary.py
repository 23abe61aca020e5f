"""Make a zstd dictionary for stored data: python -m deploy.train_dictionary NUMBER entries|lifelines FILE…

The dictionary is written to timeline/history/dictionaries/. Stored data needs each dictionary that was ever released,
so never change one.
"""

import sys
from collections.abc import Sequence
from pathlib import Path

import msgspec
import zstandard

from collectors.formats import read
from timeline.core.entries import Entry
from timeline.history.codec import line_of
from timeline.history.world.world import World
from timeline.layout import outline

_BYTES = {"entries": 64 * 1024, "lifelines": 16 * 1024}  # larger ones gain nothing
_FOLDER = Path(__file__).resolve().parent.parent / "timeline" / "history" / "dictionaries"


def main() -> None:
    number, what, *names = sys.argv[1:]
    target = _FOLDER / f"{number}.zstd"
    if target.exists():
        raise SystemExit(f"{target} exists; dictionaries are never changed, only added.")
    examples: list[bytes | bytearray | memoryview] = []
    for name in names:
        items = read([(Path(name), Path(name).name)], bodies=True)
        entries = [item for item in items if isinstance(item, Entry)]
        examples += [line_of(entry) for entry in entries] if what == "entries" else lifelines(entries)
    dictionary = zstandard.train_dictionary(_BYTES[what], examples, dict_id=int(number))
    target.write_bytes(dictionary.as_bytes())
    print(f"{target}: {len(dictionary.as_bytes())} bytes, of {len(examples)} examples")


def lifelines(entries: Sequence[Entry]) -> list[bytes]:
    world = World()
    for _ in world.learn(entries):
        pass
    world.settle()
    return [msgspec.json.encode(outline.lifeline(track)) for track in world.tracks()]


if __name__ == "__main__":
    main()
