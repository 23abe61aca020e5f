"""Find the findings and incidents that the present reader may acknowledge and silence, with all that they involve.

Of others, readers of some namespaces see a part, or are only viewers of a part. What somebody does about these would
hold for what is hidden, or for what others answer for, too.
"""

from collections.abc import Collection

from timeline.models import Finding, Incident
from timeline.storage.permitted.limits import answered, unlimited

REFUSED = (
    "It involves objects that you may not see, or of which you are only a viewer. A responder of all of this source "
    "can do that."
)


def wholly_answered(model: type[Finding] | type[Incident], source_id: int, identities: Collection[str]) -> set[str]:
    """Return those of these findings or incidents that the present reader may answer in all of their namespaces."""
    answers = answered()
    if answers.sees_whole(source_id):
        return {*identities}
    names = answers.namespaces.get(source_id, frozenset())
    with unlimited():
        rows = model._default_manager.filter(source=source_id, identity__in=list(identities))
        involved = dict(rows.values_list("identity", "namespaces"))
    return {identity for identity, namespaces in involved.items() if namespaces and names.issuperset(namespaces)}


def refusal_to_answer(model: type[Finding] | type[Incident], source_id: int, identity: str) -> str:
    """Return why the present reader may not answer a finding or an incident, whatever the role is; "" otherwise."""
    return "" if wholly_answered(model, source_id, [identity]) else REFUSED
