"""Read PodDisruptionBudgets: how many evictions they allow now."""

from collections.abc import Iterable

import msgspec

from timeline.core.entries import Facts
from timeline.kinds import Kind, Mark, Phase, Shape


class _Status(msgspec.Struct, gc=False):
    disruptionsAllowed: int | None = None
    currentHealthy: int | None = None
    desiredHealthy: int | None = None
    expectedPods: int | None = None


class PodDisruptionBudgetShape(Shape):
    status: _Status = msgspec.field(default_factory=_Status)


class PodDisruptionBudgetFacts(Facts, frozen=True, omit_defaults=True, gc=False):
    """What is kept of a PodDisruptionBudget; numbers of Pods are -1 as long as no status has them."""

    allowed: int = -1  # evictions
    healthy: int = -1
    needed: int = -1  # of the healthy ones
    expected: int = -1  # all that it is about


def _facts(budget: PodDisruptionBudgetShape) -> PodDisruptionBudgetFacts:
    status = budget.status
    numbers = (status.disruptionsAllowed, status.currentHealthy, status.desiredHealthy, status.expectedPods)
    allowed, healthy, needed, expected = (-1 if number is None else number for number in numbers)
    return PodDisruptionBudgetFacts(*budget.metadata.common, allowed, healthy, needed, expected)


def _phase(budget: PodDisruptionBudgetFacts) -> Phase:
    if budget.deleting:
        return Phase("Terminating", "ended")
    if budget.allowed < 0:
        return Phase("New", "pale")
    return Phase(f"allows {budget.allowed}", "strong" if budget.allowed else "muted")


def _marks(before: PodDisruptionBudgetFacts, after: PodDisruptionBudgetFacts) -> Iterable[Mark]:
    if before.allowed != after.allowed:
        yield Mark("status", f"allows {after.allowed}")


KIND = Kind(
    "policy",
    "PodDisruptionBudget",
    "pdb",
    "Config",
    PodDisruptionBudgetShape,
    PodDisruptionBudgetFacts,
    _facts,
    _phase,
    _marks,
)
