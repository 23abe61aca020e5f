"""These tests check that a recording world answers as a plain one does, and records what each judgement reads.

tests/unit/judging/test_incremental.py has the property tests for whether enough is judged again.
"""

import re

from tests import ROOT
from tests.inputs.recordings import SAMPLE, entries_of, findings_of, world_of
from timeline.history.world.dependencies import ALL
from timeline.history.world.recording import RecordingWorld
from timeline.history.world.world import World

PACKAGE = ROOT / "timeline"
# Each of these calls other methods, which are recorded.
COMPOSED = {"gapless", "root", "strays", "unbroken", "writes_without_uid"}
FIXED = {"first", "live", "remembered"}  # changes of these do not affect stored judgements
UNSTORED = {"once", "watches"}  # asked only of recordings, which are judged as a whole
ELSEWHERE = {"activity.py", "changes.py", "sources.py", "views.py"}  # not judgements: they are computed anew


def test_every_question_that_rules_ask_is_recorded() -> None:
    sources = [*(PACKAGE / "rules").rglob("*.py"), *(PACKAGE / "judging").rglob("*.py")]
    sources = [source for source in sources if source.name not in ELSEWHERE]
    asked = {
        name for source in sources for name in re.findall(r"(?<!\.)\bworld\.([a-z]\w*)", source.read_text("utf-8"))
    }
    asked &= vars(World).keys()
    recorded = vars(RecordingWorld).keys() | {"referrers"}  # calls `_referrers`, which is recorded
    assert asked - recorded - COMPOSED <= FIXED | UNSTORED


def test_a_recording_world_finds_the_same() -> None:
    entries = entries_of(SAMPLE)
    assert findings_of(world_of(entries, world=RecordingWorld())) == findings_of(world_of(entries))


def test_a_change_leads_to_the_judgements_that_looked_at_it() -> None:
    world = RecordingWorld()
    world_of(entries_of(SAMPLE), world=world)
    pod = next(world.of_kind("", "Pod"))
    world.dependencies.begin(pod.key)
    world.of_uid("asked")
    world.dependencies.end()
    world.of_uid("asked-outside-of-a-judgement")
    world.dependencies.take()
    world.dependencies.differs(("uid", "asked-outside-of-a-judgement"))
    assert not world.dependencies.take()
    world.dependencies.differs(("uid", "asked"))
    assert world.dependencies.take() == {pod.key: ALL}
