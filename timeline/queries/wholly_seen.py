"""This module says which findings and incidents the present reader sees with all that they involve.

Of others, readers of some namespaces see a part. What somebody does about these would hold for what is hidden, too.
"""

from collections.abc import Collection

from timeline.models import Finding, Incident
from timeline.storage.seen import present, unlimited

REFUSED = "It involves objects that you may not see. Somebody who sees all of this source can do that."


def wholly_seen(model: type[Finding] | type[Incident], source_id: int, identities: Collection[str]) -> set[str]:
    """Return those of these findings or incidents all namespaces of which the present reader sees."""
    seen = present()
    if seen.sees_whole(source_id):
        return {*identities}
    names = seen.namespaces.get(source_id, frozenset())
    with unlimited():
        rows = model._default_manager.filter(source=source_id, identity__in=list(identities))
        involved = dict(rows.values_list("identity", "namespaces"))
    return {identity for identity, namespaces in involved.items() if namespaces and names.issuperset(namespaces)}
