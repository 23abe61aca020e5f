"""The tests, in layers: `unit`, `database`, `process` and `browser`. Each mirrors the packages that it tests.

What several of them share stands beside them: the modules of this folder, the recordings in `data` and those of each
rule in `rules`.
"""

from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
DATA = ROOT / "tests" / "data"
ENGINE = DATA / "engine"
RULES = ROOT / "tests" / "rules"
