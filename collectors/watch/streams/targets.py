"""Decide, after each discovery, which targets of a cluster are watched. No database is used."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from collectors.watch.streams.resources import Resource, Target, targets
from collectors.watch.streams.threads import StreamStatus

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from collectors.watch.streams.decoding import KnownObject
    from collectors.watch.streams.discovery import DiscoveryResult
    from collectors.watch.streams.threads import Streams

WAITING, MISSING = "waiting", "missing"  # states of a stream


class Known(NamedTuple):
    """What is known of a target: the objects that existed at a resourceVersion, up to which everything was delivered,
    and when that was, in µs since 1970. Without a resourceVersion, the target has to be listed."""

    objects: Mapping[str, KnownObject]
    revision: int | None
    at: int


class Targets:
    """Start and stop streams. `known` returns what is known of a target, `report` takes new states, and `previous` are
    the targets that were watched before."""

    def __init__(
        self,
        streams: Streams,
        namespaces: Sequence[str],
        previous: Iterable[Target],
        known: Callable[[Target], Known],
        report: Callable[[StreamStatus], None],
    ) -> None:
        self._streams, self._namespaces, self._previous = streams, namespaces, list(previous)
        self._known, self._report = known, report

    def apply(self, result: DiscoveryResult) -> None:
        """Start watching what is served now, and stop watching what is not."""
        wanted = [target for resource in result.resources for target in targets(resource, self._namespaces)]
        for target in self._streams.targets.difference(wanted):
            self._streams.stop(target)
            self._report(StreamStatus(target, MISSING, "The cluster does not serve it any more."))
        for name, why in result.missing:
            plural, _, group = name.partition(".")
            self._report(StreamStatus(Target(Resource(group, "", "", plural, True)), MISSING, why))
        for target in set(self._previous).difference(wanted):
            self._report(StreamStatus(target, MISSING, "It is not watched any more."))
        self._previous = []
        for target in wanted:
            if target not in self._streams.targets:
                # The state of a stream must be known before anything of it is stored.
                self._report(StreamStatus(target, WAITING, ""))
                self._streams.start(target, *self._known(target))
