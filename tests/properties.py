"""How many examples the property tests try: few in a run of the suite, which differ each time, and many in a soak.

Hypothesis keeps the examples that failed in `.hypothesis` and tries them first the next time. It also prints each as
a decorator, `@reproduce_failure`, for runs that happened elsewhere.
"""

from typing import Any

from hypothesis import HealthCheck, settings

SUITE, SOAK = "suite", "soak"  # profiles of Hypothesis
TIMES = 50  # as many examples in a soak

_COMMON: dict[str, Any] = {
    "deadline": None,  # a busy machine is no defect
    "print_blob": True,
    "suppress_health_check": [HealthCheck.too_slow],
}
settings.register_profile(SUITE, max_examples=50, **_COMMON)
settings.register_profile(SOAK, max_examples=50 * TIMES, **_COMMON)


def examples(times: int, **options: Any) -> settings:
    """Settings of a test that tries so many examples in a run of the suite."""
    suppressed = [*_COMMON["suppress_health_check"], *options.pop("suppress_health_check", ())]
    soaking = settings.get_current_profile_name() == SOAK
    return settings(max_examples=times * (TIMES if soaking else 1), suppress_health_check=suppressed, **options)
