"""These tests check every kind of `timeline/kinds`: it reads an almost empty object, and names things that can be
drawn."""

import msgspec
import pytest

from timeline.core.entries import Facts
from timeline.kinds import Kind, kind_of, registry

KINDS = sorted(registry().values(), key=lambda kind: (kind.kind, kind.group))
TONES = {"strong", "pale", "muted", "ended"}


each_kind = pytest.mark.parametrize("kind", KINDS, ids=lambda kind: f"{kind.kind}.{kind.group}")


def decoded_as(kind: Kind, **fields: object) -> Facts:
    """Return the facts of an object with these fields."""
    return kind.facts(msgspec.json.decode(msgspec.json.encode(fields), type=kind.shape))


def facts_of(kind: Kind, **metadata: object) -> Facts:
    """Return the facts of an object that has only metadata."""
    return decoded_as(kind, metadata={"name": "x", **metadata})


@each_kind
def test_an_object_that_tells_nothing_has_facts_and_a_phase(kind: Kind) -> None:
    facts = facts_of(kind)
    assert type(facts) is kind.facts_type
    assert hash(facts) == hash(facts_of(kind))
    assert kind.phase(facts).text and kind.phase(facts).tone in TONES
    assert not [*kind.marks(facts, facts), *kind.references(facts)]
    assert isinstance(kind.subtitle(facts), str)


@each_kind
def test_what_all_objects_tell_is_kept_of_every_kind(kind: Kind) -> None:
    times = {"creationTimestamp": "2026-11-21T07:52:00Z", "deletionTimestamp": "2026-11-21T07:53:30Z"}
    facts = facts_of(kind, **times, deletionGracePeriodSeconds=30, finalizers=["a/b"], generation=2)
    assert (facts.deleting, facts.finalizers, facts.generation) == (True, ("a/b",), 2)
    assert facts.asked - facts.created == 60_000_000


def test_a_kind_is_found_by_its_group_and_name() -> None:
    for kind in KINDS:
        if kind.group != "*":
            assert kind_of(kind.group, kind.kind) is kind
            assert kind.short and kind.family
