"""These tests make accounts of people whom somebody else has signed in, also at the same moment."""

import threading

import pytest
from django.contrib.auth.models import User
from django.db import connections
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.django import TestCase

from dashboard.access.signing_in import people


def identity(subject: str = "7", name: str = "ada", groups: tuple[str, ...] = ()) -> people.Identity:
    return people.Identity("https://idp.example.org", subject, name, "ada@example.org", "Ada", groups, "oidc")


@pytest.mark.django_db(transaction=True)
def test_requests_at_the_same_time_make_one_account() -> None:
    found: list[int] = []

    def make() -> None:
        try:
            found.append(people.account_of(identity(groups=("platform", "payments"))).pk)
        finally:
            connections.close_all()

    threads = [threading.Thread(target=make) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 8 and len(set(found)) == 1
    assert list(User.objects.values_list("username", flat=True)) == ["ada"]
    assert User.objects.get().groups.count() == 2


class AnyIdentity(TestCase):
    """Django's test case keeps the examples of hypothesis apart."""

    @given(name=st.text(max_size=300), groups=st.lists(st.text(max_size=200), max_size=5))
    def test_whatever_a_provider_calls_somebody_is_a_name_that_can_be_typed(self, name: str, groups: list[str]) -> None:
        user = people.account_of(identity(name=name, groups=tuple(groups)))
        user.full_clean(exclude=["password"])
        assert all(each.name.startswith("oidc:") for each in user.groups.all())

    @given(st.text(max_size=300).filter(lambda text: not text.isprintable() or not 0 < len(text) <= people.LONGEST_ID))
    def test_who_has_no_identifier_is_nobody(self, subject: str) -> None:
        with pytest.raises(people.Unknown):
            people.account_of(identity(subject=subject))
