"""This module sets how many examples tests try: few in a run of the suite, and many with `make examples`.

Property tests try other ones each time.

Hypothesis keeps the examples that failed in `.hypothesis` and tries them first the next time. It also prints each as a
decorator, `@reproduce_failure`, for runs that happened elsewhere.
"""

from collections.abc import Iterable
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

SUITE, EXAMPLES = "suite", "examples"  # profiles of Hypothesis
TIMES = 200  # how many times as many examples `make examples` tries

_COMMON: dict[str, Any] = {
    "deadline": None,  # a test may be slow on a busy machine
    "print_blob": True,
    "suppress_health_check": [HealthCheck.too_slow],
}
settings.register_profile(SUITE, max_examples=15, **_COMMON)
settings.register_profile(EXAMPLES, max_examples=15 * TIMES, **_COMMON)


def tries_all() -> bool:
    """Return whether `make examples` runs these tests, which tries many more examples than the suite."""
    return settings.get_current_profile_name() == EXAMPLES


def sampled(values: Iterable[Any], few: int) -> list[Any]:
    """Return a few of the values for `parametrize`, from all parts of their list; all of them with `make examples`."""
    every = list(values)
    if tries_all():
        return [pytest.param(each, marks=pytest.mark.examples) for each in every]
    return [every[number * len(every) // few] for number in range(few)]


def examples(times: int, **options: Any) -> settings:
    """Return the settings of a test that tries this number of examples in a run of the suite."""
    suppressed = [*_COMMON["suppress_health_check"], *options.pop("suppress_health_check", ())]
    return settings(max_examples=times * (TIMES if tries_all() else 1), suppress_health_check=suppressed, **options)
