"""These tests check that screening many observations never overlooks one that redaction would change."""

from collections.abc import Callable, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from collectors.gate import Limits, admit
from collectors.redaction import Policy, screening
from collectors.redaction import entries as one_by_one
from collectors.redaction.entries import without_credentials
from collectors.redaction.screening import have_no_credentials
from tests.inputs.credentials import FORMS, TEXTS
from tests.inputs.events import entries_of, event, pod
from tests.properties import examples
from timeline.core.entries import Client, Entry, ObjectRef, Owner, Request
from timeline.kinds.event import EventFacts
from timeline.kinds.pod import PodFacts

UID = "6ff7cd34-6ed0-4a3c-8a4b-000000000001"
HARMLESS = ("web-7d4b9c6f5d-x2x4z", "", UID, "kube-controller-manager/v1.36 (linux) kubernetes/abc/job-controller")
TRICKY = ("kubernetesdashboard", UID.replace("-", "g"), "-" * 36, "a\nb" * 9, "c3lzdGVtOm5vZGU6bm9kZS0x", "a=b://c" * 4)
texts = st.sampled_from([*HARMLESS, *TRICKY, *FORMS.values(), *TEXTS.values()]) | st.text(max_size=40)
harmless = st.sampled_from(HARMLESS)
(ENTRY,) = entries_of(event(responseObject=pod()))
FACTS = PodFacts()


def entries(of: st.SearchStrategy[str]) -> st.SearchStrategy[Entry | Request]:
    """Return entries and requests of which one field has such a text, and the others are harmless."""
    refs = st.builds(ObjectRef, harmless, harmless, harmless, of, of, of)
    owners = st.none() | st.builds(Owner, harmless, harmless, harmless, of, of)
    clients = st.none() | st.builds(Client, of, of, harmless, of)
    facts = st.builds(lambda text, name: replace(FACTS, node=text, finalizers=(name,)), of, of)
    return st.one_of(
        refs.map(lambda ref: replace(ENTRY, ref=ref)),
        st.builds(lambda owner, client: replace(ENTRY, owner=owner, client=client), owners, clients),
        facts.map(lambda each: replace(ENTRY, facts=each)),
        of.map(lambda text: replace(ENTRY, facts=EventFacts(reason="Failed", message=text))),
        st.builds(lambda text, name: replace(ENTRY, actor=text, user_agent=name, identity=text, action=name), of, of),
        of.map(lambda text: replace(ENTRY, sets=(("node", text), ("finalizers", (text,))))),
        st.builds(
            lambda text, ref: Request(ref, "list", 200, 1, selector=text, actor=text, identity=text), of, refs
        ),
    )  # fmt: skip


@given(st.lists(entries(harmless) | entries(texts), max_size=4))
@examples(50)
def test_what_redaction_would_change_is_never_called_harmless(observed: Sequence[Entry | Request]) -> None:
    changed = any(without_credentials(each) != each for each in observed)
    for _ in range(2):  # the second time, the texts may be remembered
        assert not (changed and have_no_credentials(observed))


@given(st.lists(entries(harmless) | entries(texts), max_size=40))
@examples(25)
def test_many_are_redacted_as_each_by_itself(observed: list[Entry | Request]) -> None:
    assert [*admit(observed, Limits())] == [without_credentials(each) for each in observed]


@pytest.mark.parametrize("name", FORMS)
def test_a_credential_among_many_names_is_found(name: str) -> None:
    many = [replace(ENTRY, ref=replace(ENTRY.ref, name=f"web-7d4b9c6f5d-{number}")) for number in range(50)]
    assert have_no_credentials(many)
    assert not have_no_credentials([*many, replace(ENTRY, actor=f"system:{FORMS[name]}"), *many])


def test_patterns_of_a_house_count(policy: Callable[[Policy], None]) -> None:
    observed = [replace(ENTRY, actor="somebody ACME-12345678")]
    assert have_no_credentials(observed)
    policy(Policy((r"ACME-\d{8}$",)))
    assert not have_no_credentials(observed)
    assert not have_no_credentials([*observed, replace(ENTRY, actor="somebody else, later")])


def test_long_messages_are_not_remembered() -> None:
    text = "The volume is not attached. " * 100
    observed = [replace(ENTRY, facts=EventFacts(reason="Failed", message=text))]
    assert have_no_credentials(observed)
    assert without_credentials(observed[0]) == observed[0]
    assert text not in screening._known
    assert text not in one_by_one._harmless
