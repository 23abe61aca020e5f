"""The large recordings of the benches tell of what the small one tells of, as many times as they repeat it."""

from collections import Counter
from pathlib import Path

from bench.larger import repeated
from collectors.analysis import analyse
from collectors.formats import Limits
from tests import ROOT

SAMPLE = ROOT / "dashboard" / "samples" / "volcano-restart.jsonl.zst"
SHARED = {"lease-shared-config"}  # is told once of all Deployments of a Lease


def found(path: Path) -> Counter[str]:
    return Counter(each.rule for each in analyse([(path, path.name)], Limits()).findings)


def test_what_is_repeated_is_found_as_often(tmp_path: Path) -> None:
    large = tmp_path / "large.jsonl"
    large.write_bytes(b"\n".join(repeated(SAMPLE, 3)))
    once = found(SAMPLE)
    assert once
    assert found(large) == Counter({rule: count if rule in SHARED else 3 * count for rule, count in once.items()})
