"""Write the advice on deleting the objects that a controller left behind, and no others. It does no I/O."""

import json
from collections.abc import Iterator
from urllib.parse import quote

from timeline.core.entries import ObjectRef
from timeline.judging.advice import about, kubectl, quoted
from timeline.judging.advice import resource as resource_of

MOST = 100  # the most objects that the advice of a finding names


def deletion_advice(owner: ObjectRef, leaked: list[ObjectRef], standing: list[ObjectRef]) -> Iterator[str]:
    """Yield the lines of advice for an owner whose controller creates children without end.

    They say how to stop it, how to delete the children that it left, and how to verify that no more are created.
    `leaked` are all such children (at least one), and `standing` are those that still exist.
    """
    space, resource, volcano = leaked[0].namespace, resource_of(leaked[0]), owner.group == "batch.volcano.sh"
    delete = kubectl(space, "delete {} {} --cascade=orphan --dry-run=server", resource_of(owner), owner.name)
    suspend = f"`vcctl job suspend --namespace {quoted(space)} --name {quoted(owner.name)}`, or " if volcano else ""
    yield f"Look: why does it start again and again? The Events in {about('describe', owner)} tell."
    yield (
        f"Stop: {suspend}{delete}, then the same without `--dry-run=server`. "
        "Without `--cascade=orphan` all that it owns goes with it, also what is in use."
    )
    if standing:
        one, names = standing[0], [ref.name for ref in standing[:MOST]]
        columns = "NAME:.metadata.name,UID:.metadata.uid"
        yield (
            f"Clean: {kubectl(space, 'delete {}' + ' {}' * len(names) + ' --dry-run=server', resource, *names)}, "
            "then the same without `--dry-run=server`. "
            "Nothing seen here names or uses them. Delete each only while it has the UID that this finding gives: "
            f"{kubectl(space, 'get {} -o custom-columns={}', resource, columns)}."
        )
        if one.kind == "PersistentVolumeClaim":
            path = f"/api/v1/namespaces/{quote(one.namespace, '')}/persistentvolumeclaims/{quote(one.name, '')}"
            options = {"apiVersion": "v1", "kind": "DeleteOptions", "preconditions": {"uid": one.uid}}
            body, path = quoted(json.dumps(options, separators=(",", ":"))), quoted(f"{path}?dryRun=All")
            yield f"Or let the API server compare the UID: `echo {body} | kubectl delete --raw {path} -f -`."
    if volcano:
        yield (
            "Prevent: create every claim that a volume names before the job, list the volumes that name a claim before "
            "those that make one, and upgrade Volcano to 1.11.1 or 1.12.0."
        )
    else:
        yield "Prevent: find out from the controller's log why it starts anew; the proof names it as the actor."
    counted = kubectl(space, "get {} -o name", resource).strip("`")
    yield f"Verify: the count stands still: `watch -n 10 {quoted(f'{counted} | wc -l')}`."
