"""Read an audit log that is to be added to what the watches of a cluster show, and check that both are of one
cluster."""

from collections.abc import Iterable, Iterator
from datetime import datetime

from django.db import transaction

from collectors.formats import Limits, NotARecording, named, read
from collectors.uploads.recordings import Count, Inputs, explained
from timeline.core.entries import Clock, Entry, ObjectRef, Observation, Request, microseconds, moment
from timeline.core.machine.processors import available_processors
from timeline.models import Cluster, Pull, Source, Track, Upload
from timeline.storage.entries import additions

_COMPARED = 1_000  # the most objects whose UIDs are compared
_EXAMPLES = 20  # for how many objects at most one with the same name is looked for
_OWN = "Upload it as a recording of its own."
_CHOOSE = "Choose the cluster that it is of, or upload it as a recording of its own."


def read_into(upload: Upload, inputs: Inputs, limits: Limits, count: Count) -> Source:
    """Read audit logs and let them wait for the worker of the upload's cluster; return the source to which it is to add
    them.

    Raise NotARecording if there is nothing to add, or if the log is not surely of this cluster; or NoRoom. Then nothing
    waits.
    """
    assert upload.cluster_id
    cluster = Cluster.objects.select_related("source").filter(pk=upload.cluster_id).first()
    if cluster is None or cluster.source is None or cluster.source.first is None:
        raise NotARecording("The cluster is not watched, or nothing of it has been observed yet.")
    reading = read(named(inputs), bodies=True, limits=limits, processes=available_processors())
    log = _Log(cluster.source.first)
    continuous = Pull.objects.filter(upload=upload, continuous=True).exists()
    with explained(), transaction.atomic():
        additions.write(cluster.source, upload, log.chosen(count.entries(reading)))
        log.check(cluster.name, cluster.source, continuous=continuous)
    return cluster.source


class _Log:
    """Choose what of a log belongs to a source that begins at a time, and note what identifies the log's cluster."""

    def __init__(self, begins: datetime) -> None:
        self._begins = microseconds(begins)
        self.kept = 0
        self._first, self._last = 0, 0
        self._others = False  # whether anything but an audit log was read
        self._objects: dict[str, ObjectRef] = {}  # by UID

    def chosen(self, observed: Iterable[Observation]) -> Iterator[Observation]:
        """Yield what an audit log shows of the time since the source begins."""
        for each in observed:
            if not isinstance(each, Request) and not (isinstance(each, Entry) and each.clock is Clock.AUDIT):
                self._others = True
                continue
            self._first = min(self._first or each.received, each.received)
            self._last = max(self._last, each.received)
            if each.received < self._begins:
                continue
            if each.ref.uid and (len(self._objects) < _COMPARED or each.ref.name == "kube-system"):
                self._objects.setdefault(each.ref.uid, each.ref)
            self.kept += 1
            yield each

    def check(self, name: str, source: Source, *, continuous: bool) -> None:
        """Raise NotARecording if the log does not belong to this source.

        A short window that is pulled continuously may have nothing of use in it, and nothing that shows its cluster: an
        administrator has said which cluster the log store is of.
        """
        if self._others:
            raise NotARecording(f"Only audit logs can be added to a connected cluster, and there is more in it. {_OWN}")
        if continuous and not self.kept:
            return
        if not self._last:
            raise NotARecording("There is no request in it that an audit log shows.")
        if not self.kept:
            raise NotARecording(
                f"It ends at {_utc(self._last)}, before {name} was watched, which began at {_utc(self._begins)}. {_OWN}"
            )
        self._check_cluster(name, source, continuous=continuous)

    def _check_cluster(self, name: str, source: Source, *, continuous: bool) -> None:
        uids = {each for each in self._objects if "\0" not in each}
        kube = next((each for each in self._objects.values() if _is_kube_system(each)), None)
        if kube and (other := _kube_system(source)) not in ("", kube.uid):
            raise NotARecording(
                f"It is of another cluster: its Namespace kube-system has the UID {kube.uid}, and that of {name} "
                f"{other}. {_CHOOSE}"
            )
        if continuous:
            return
        known = set(Track.objects.filter(source=source, uid__in=uids).values_list("uid", flat=True))
        if known:
            return
        if not uids:
            raise NotARecording(
                f"Nothing in it shows which cluster it is of: no line of the time since {_utc(self._begins)} has the "
                f"UID of an object. {_OWN}"
            )
        raise NotARecording(
            f"It seems to be of another cluster: {name} has none of the {len(uids)} objects whose UIDs it shows"
            f"{self._example(source)}. {_CHOOSE}"
        )

    def _example(self, source: Source) -> str:
        """Return words about an object that has the same name in both and another UID; "" if there is none."""
        for ref in list(self._objects.values())[:_EXAMPLES]:
            same = {"group": ref.group, "kind": ref.kind, "namespace": ref.namespace, "name": ref.name}
            if other := Track.objects.filter(source=source, **same).exclude(uid="").values_list("uid").first():
                place = f"{ref.namespace}/{ref.name}" if ref.namespace else ref.name
                return f": {ref.kind} {place} has the UID {ref.uid} there, and {other[0]} here"
        return ""


def _is_kube_system(ref: ObjectRef) -> bool:
    return (ref.group, ref.kind, ref.name) == ("", "Namespace", "kube-system")


def _kube_system(source: Source) -> str:
    found = Track.objects.filter(source=source, group="", kind="Namespace", name="kube-system")
    return found.values_list("uid", flat=True).first() or ""


def _utc(time: int) -> str:
    return f"{moment(time):%Y-%m-%d %H:%M:%S} UTC"
