"""Write the advice on deleting the objects that a controller left behind, and no others. It does no I/O."""

from collections.abc import Iterator

from timeline.core.entries import ObjectRef
from timeline.judging.advice import about
from timeline.judging.advice import resource as resource_of

MOST = 100  # the most objects that the advice of a finding names


def deletion_advice(owner: ObjectRef, leaked: list[ObjectRef], standing: list[ObjectRef]) -> Iterator[str]:
    """Yield the lines of advice for an owner whose controller creates children without end.

    They say how to stop it, how to delete the children that it left, and how to verify that no more are created.
    `leaked` are all such children (at least one), and `standing` are those that still exist.
    """
    kubectl = f"kubectl -n {leaked[0].namespace}" if leaked[0].namespace else "kubectl"
    resource, volcano = resource_of(leaked[0]), owner.group == "batch.volcano.sh"
    whole = f"{kubectl} delete {resource_of(owner)} {owner.name} --cascade=orphan"
    suspend = f"`vcctl job suspend --namespace {owner.namespace} --name {owner.name}`, or " if volcano else ""
    yield f"Look: why does it start again and again? The Events in {about('describe', owner)} tell."
    yield (
        f"Stop: {suspend}`{whole} --dry-run=server`, then the same without `--dry-run=server`. "
        "Without `--cascade=orphan` all that it owns goes with it, also what is in use."
    )
    if standing:
        names = " ".join(ref.name for ref in standing[:MOST])
        one = standing[0]
        yield (
            f"Clean: `{kubectl} delete {resource} {names} --dry-run=server`, then the same without `--dry-run=server`. "
            "Nothing seen here names or uses them. Delete each only while it has the UID that this finding gives: "
            f"`{kubectl} get {resource} -o custom-columns=NAME:.metadata.name,UID:.metadata.uid`."
        )
        if one.kind == "PersistentVolumeClaim":
            path = f"/api/v1/namespaces/{one.namespace}/persistentvolumeclaims/{one.name}?dryRun=All"
            options = f'{{"apiVersion":"v1","kind":"DeleteOptions","preconditions":{{"uid":"{one.uid}"}}}}'
            yield f"Or let the API server compare the UID: `echo '{options}' | kubectl delete --raw '{path}' -f -`."
    if volcano:
        yield (
            "Prevent: create every claim that a volume names before the job, list the volumes that name a claim before "
            "those that make one, and upgrade Volcano to 1.11.1 or 1.12.0."
        )
    else:
        yield "Prevent: find out from the controller's log why it starts anew; the proof names it as the actor."
    yield f'Verify: the count stands still: `watch -n 10 "{kubectl} get {resource} -o name | wc -l"`.'
