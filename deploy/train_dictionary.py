"""Make a dictionary for what the store packs: python -m deploy.train_dictionary NUMBER FILE…

It is written to timeline/dictionaries/. One that was ever released is never made again: what is stored needs it.
"""

import sys
from pathlib import Path

import zstandard

from collectors.formats import Skipped, read
from timeline.written import line_of

_BYTES = 64 * 1024  # larger ones gain nothing on chunks of entries
_FOLDER = Path(__file__).resolve().parent.parent / "timeline" / "dictionaries"


def main() -> None:
    number, *names = sys.argv[1:]
    target = _FOLDER / f"{number}.zstd"
    if target.exists():
        raise SystemExit(f"{target} exists; dictionaries are never changed, only added.")
    lines: list[bytes | bytearray | memoryview] = [
        line_of(item)
        for name in names
        for item in read([(Path(name), Path(name).name)], bodies=True)
        if not isinstance(item, Skipped)
    ]
    dictionary = zstandard.train_dictionary(_BYTES, lines, dict_id=int(number))
    target.write_bytes(dictionary.as_bytes())
    print(f"{target}: {len(dictionary.as_bytes())} bytes, of {len(lines)} entries")


if __name__ == "__main__":
    main()
