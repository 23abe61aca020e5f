"""Values that share their texts equal those that do not, and have the same types."""

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from timeline.core.machine.sharing import SharedTexts
from timeline.kinds import Reference
from timeline.kinds.event import Acted, EventFacts
from timeline.kinds.pod import PodFacts

_TEXTS = st.text(max_size=4) | st.sampled_from(["a" * 256, "a" * 257])
_LEAVES = _TEXTS | st.none() | st.booleans() | st.integers(0, 2)
_VALUES = st.recursive(
    _LEAVES,
    lambda inner: (
        st.lists(inner, max_size=3).map(tuple)
        | st.builds(Reference, inner, inner, inner, inner, inner)
        | st.builds(
            PodFacts, created=st.integers(0, 2), phase=_TEXTS, addresses=inner, images=inner, ready=st.booleans()
        )
        | st.builds(EventFacts, reason=_TEXTS, involved=inner)
    ),
    max_leaves=12,
)


@given(st.lists(_VALUES, max_size=8))
def test_shared_values_equal_the_given_ones_in_value_and_types(values: list[object]) -> None:
    texts = SharedTexts()
    for value in values:
        assert _described(texts.of(value)) == _described(value)


def test_equal_texts_and_tuples_are_kept_once() -> None:
    texts = SharedTexts()
    one, other = (texts.of(_pod("".join(["team", "-0"]))) for _ in range(2))
    assert one.node is other.node
    assert one.needs is other.needs
    acted = Acted("batch", "v1", "Job", "".join(["team", "-0"]), "one", "uid", "1", 5)
    shared = texts.of(EventFacts(acted=acted)).acted
    assert shared and shared.namespace is one.node


def test_what_is_remembered_is_bounded() -> None:
    texts = SharedTexts()
    for number in range(30_000):
        texts.of((f"text {number}",))
    long = "a" * 1000
    assert texts.of(long) is long
    assert len(texts._texts) <= 8_000
    assert len(texts._tuples) <= 2_000
    assert texts.of("".join(["a"] * 1000)) is not long


def _pod(text: str) -> PodFacts:
    return PodFacts(node=text, needs=(Reference("", "ConfigMap", text, "config"),))


def _described(value: object) -> object:
    """Return a value that equals another one only if the types within are the same, too."""
    if isinstance(value, msgspec.Struct):
        return type(value), [*map(_described, msgspec.structs.astuple(value))]
    if isinstance(value, tuple):
        return type(value), [*map(_described, value)]
    return type(value), value
