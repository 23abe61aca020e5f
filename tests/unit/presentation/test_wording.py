"""These tests look at words of pages that are more than one value."""

from dashboard.presentation import wording
from timeline.judging.coverage.remedies import LOGS, remedy


def test_what_nobody_should_log_is_not_among_the_lines_to_copy() -> None:
    found = dict(wording.remedies([remedy("ConfigMap", False), remedy("Job", False), LOGS]))
    (heading,) = (each for each, lines in found.items() if "configmaps" in "".join(lines))
    assert heading in wording.SENTENCES
    assert len(found) == 3
    assert sum(each in wording.SENTENCES for each in found) == 1
