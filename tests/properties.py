"""This module sets how many examples property tests try: few in a run of the suite, other ones each time, and many with
`make examples`.

Hypothesis keeps the examples that failed in `.hypothesis` and tries them first the next time. It also prints each as a
decorator, `@reproduce_failure`, for runs that happened elsewhere.
"""

from typing import Any

from hypothesis import HealthCheck, settings

SUITE, EXAMPLES = "suite", "examples"  # profiles of Hypothesis
TIMES = 50  # how many times as many examples `make examples` tries

_COMMON: dict[str, Any] = {
    "deadline": None,  # a test may be slow on a busy machine
    "print_blob": True,
    "suppress_health_check": [HealthCheck.too_slow],
}
settings.register_profile(SUITE, max_examples=50, **_COMMON)
settings.register_profile(EXAMPLES, max_examples=50 * TIMES, **_COMMON)


def examples(times: int, **options: Any) -> settings:
    """Return the settings of a test that tries this number of examples in a run of the suite."""
    suppressed = [*_COMMON["suppress_health_check"], *options.pop("suppress_health_check", ())]
    many = settings.get_current_profile_name() == EXAMPLES
    return settings(max_examples=times * (TIMES if many else 1), suppress_health_check=suppressed, **options)
