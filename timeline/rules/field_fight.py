"""Two programs that take one field of an object back from each other, again and again.

## What it sees

Two programs undo each other's changes of one field: one sets a value, the other sets the one that stood before, the
first one sets its own again. Within ten minutes, one of them did so at least three times. Fields of the spec, labels,
annotations and ownerReferences are judged.

## Why it matters

The object never keeps what either of the two wants. Each change can start a rollout, move Pods, or scale a workload up
and down, and both programs report success. It mostly comes from a manifest that names a field which another
controller owns, such as the `replicas` of a workload that has an autoscaler.

## Proof

What successive writes of the object wanted, and who sent them. Only a value that was set, replaced by the other program
and set again counts. The audit log shows the program and its account; a watch shows the field manager.

## Looks alike but is benign

- One hand-over of a field from one program to another, as with server-side apply.
- An autoscaler, and a manifest that leaves `replicas` out.
- Two programs that each set fields of their own in the same object.
- A program that changes its own value to and fro, such as an autoscaler under a changing load.
- A field that one program adds and another removes: many programs ask each other for something in that way.
- The status, conditions, taints, finalizers, counters and times, and labels or annotations that hold a state or a lock.
- Two field managers of one program and one account: they count as one.

## What to do

Decide which of the two owns the field, and leave it out of what the other one applies: remove `replicas` from a
manifest that an autoscaler scales, or tell the GitOps controller to ignore the difference. With server-side apply, a
conflict is then reported instead of overwritten.
"""

from collections.abc import Iterator

from timeline.core.durations import Length
from timeline.core.intent import is_tag
from timeline.history.lifelines import Track
from timeline.history.world.world import World
from timeline.judging.advice import about, writers_of
from timeline.judging.coverage.lines import USUAL, line, need
from timeline.judging.findings import Effect, Finding, Occurrence, Part, Proof, occurrence
from timeline.judging.incidents.fights import Fight, Setting, fights
from timeline.judging.rulebook import rule, setting
from timeline.judging.verdicts import Verdict

TIMES = setting("field-fight", "times", 3, "", "How often one program must take a field back.")
WITHIN = setting("field-fight", "within", 600, "s", "The time within which a field must be taken back so often.")


@rule(
    "field-fight",
    judges=(),
    needs=(need(line(*USUAL, verbs="update", others=True)),),
    incident="Two programs take fields of {subjects} back from each other",
    harm="{count} fields taken back and forth in {anchors}",
)
def judge(track: Track, world: World) -> Iterator[Finding]:
    found = list(fights(track, int(TIMES.value), WITHIN.microseconds))
    if not found:
        return
    ref, worst = track.ref, max(found, key=lambda each: (each.undone, each.aspect))
    one, other = _managers(worst)
    yield Finding(
        rule="field-fight",
        subject=ref,
        verdict=Verdict.EXACT,
        summary=f"{one} and {other} took {_field(worst)} of {ref.kind} {ref.name} back from each other "
        f"{worst.undone} times",
        occurrences=tuple(sorted((_occurrence(track, each) for each in found), key=lambda each: each.first)),
        count=sum(each.undone for each in found),
        advice=(
            f"Look: who sets it? {writers_of(ref)} names {one}, {other}, or both.",
            f"Clean: once one of them leaves it alone, set it to what it should be: {about('edit', ref)}.",
            f"Prevent: decide whether {one} or {other} owns {_field(worst)}, and leave it out of what the other one "
            "sets.",
            "Use server-side apply, which refuses to overwrite a field of another manager.",
            f"Verify: {about('get', ref, ' -w')} shows that it stays.",
        ),
    )


def _occurrence(track: Track, fight: Fight) -> Occurrence:
    ref, settings, field = track.ref, fight.settings, _field(fight)
    first, last = settings[0].moment, settings[-1].moment
    one, other = _managers(fight)
    length = Length(max(0, last.time - first.time), max(0, last.time - first.time))
    return occurrence(
        *(Proof(f"{_short(each)} set {field}{_value(each)}", ref, each.moment, Part.ACT) for each in _shown(settings)),
        headline=f"{one} and {other} took {field} of {{subjects}} back from each other {fight.undone} times in "
        f"{length}",
        plural=f"objects of kind {ref.kind}",
        why="Exact: successive writes of the object show who set the field, and that the value before came back.",
        effect=(Effect.POSSIBLE, f"{{names}} never kept {field} as either of the two wants it"),
        arrow=f"taken back {fight.undone} times",
    )


def _shown(settings: tuple[Setting, ...]) -> tuple[Setting, ...]:
    """Return the first three settings, and the last one."""
    return settings if len(settings) <= 4 else (*settings[:3], settings[-1])


def _managers(fight: Fight) -> tuple[str, str]:
    """Return the two programs, with their accounts if that alone tells them apart."""
    one, other = fight.settings[0], fight.settings[1]
    if _short(one) == _short(other):
        return one.manager, other.manager
    return _short(one), _short(other)


def _short(each: Setting) -> str:
    return each.manager.partition(" as ")[0]


def _field(fight: Fight) -> str:
    name, _, rest = fight.aspect.partition(" ")
    if is_tag(fight.aspect) or name == "ownerReferences":
        return f"{name} {rest}".strip()
    words = {"spec": "fields of its spec", "template": "its Pod template"}
    return words.get(name, f"{name} of {rest}" if rest else name)


def _value(each: Setting) -> str:
    return "" if each.after.startswith("#") else f" to {each.after}"
