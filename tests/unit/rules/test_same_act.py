"""These tests check that an old copy is no warning where the newer state asks for the same act, or where a person has
it."""

from tests.unit.rules.test_rules import check_fires


def test_a_pod_that_is_created_for_a_smaller_number_is_wanted_by_the_larger_one() -> None:
    # ReplicaSet web   4 ========= 6 ==============
    # Pods             0 1              2 3  4 5       2 and 3 on the copy that says 4
    found = check_fires("stale-view/fires-scaled-up-while-it-creates", "Pod/web-2", "Pod/web-3")
    assert {(each.severity, each.worst.effect_text) for each in found} == {
        ("info", "the newer state need not have led to another act")
    }


def test_a_person_who_sends_an_old_file_again_has_no_copy_that_stands_still() -> None:
    (found,) = check_fires("stale-write/fires-somebody-tries-an-old-file-again", "Deployment/web")
    assert (found.severity, found.count) == ("info", 3)
