"""Hold what has been played so far of each resource: objects, changes and resourceVersions. It does no I/O."""

from bisect import bisect_right
from collections.abc import Iterable

from collectors.replay.commits import Commit, Tape
from collectors.replay.resources import Resource

Key = tuple[str, str]  # namespace and name, by which lists are ordered


class Log:
    """Hold the changes of one resource in the order of resourceVersions.

    A position counts all commits since the beginning, including those that were dropped.
    """

    def __init__(self, resource: Resource, space: str) -> None:
        self.resource = resource
        self.space = space
        self.base: dict[Key, Commit] = {}  # the objects before the first commit that is kept
        self.state: dict[Key, Commit] = {}  # the objects that exist now
        self.commits: list[Commit] = []
        self.revisions: list[int] = []
        self.dropped = 0  # number of commits that are not kept any more

    @property
    def end(self) -> int:
        """Return the position after the last commit."""
        return self.dropped + len(self.commits)

    def position(self, revision: int) -> int:
        """Return the position of the first commit after a resourceVersion."""
        return self.dropped + bisect_right(self.revisions, revision)

    def since(self, position: int, most: int) -> list[Commit]:
        """Return at most so many commits from a position."""
        at = position - self.dropped
        return self.commits[at : at + most]

    def add(self, commit: Commit) -> None:
        self.commits.append(commit)
        self.revisions.append(commit.revision)
        _apply(self.state, commit)

    def at(self, revision: int) -> dict[Key, Commit]:
        """Return the objects that existed at a resourceVersion."""
        if not self.revisions or self.revisions[-1] <= revision:
            return self.state
        state = dict(self.base)
        for commit in self.commits[: bisect_right(self.revisions, revision)]:
            _apply(state, commit)
        return state

    def drop(self, revision: int) -> None:
        """Drop the commits up to a resourceVersion."""
        count = bisect_right(self.revisions, revision)
        for commit in self.commits[:count]:
            _apply(self.base, commit)
        del self.commits[:count], self.revisions[:count]
        self.dropped += count

    def rewind(self, revision: int) -> None:
        """Remove the commits after a resourceVersion."""
        count = bisect_right(self.revisions, revision)
        self.state = dict(self.at(revision))
        del self.commits[count:], self.revisions[count:]


def _apply(state: dict[Key, Commit], commit: Commit) -> None:
    if commit.change == "DELETED":
        if (current := state.get(commit.key)) and current.uid == commit.uid:
            del state[commit.key]
    else:
        state[commit.key] = commit


class History:
    """Hold the logs of all resources of a tape, as far as it was played."""

    def __init__(self, tape: Tape) -> None:
        self.logs = {resource: Log(resource, tape.spaces[resource]) for resource in tape.resources}
        for commit in tape.existing:
            log = self.logs[commit.resource]
            log.base[commit.key] = log.state[commit.key] = commit
        self.revisions = dict.fromkeys(tape.spaces.values(), 1)  # space -> its latest resourceVersion
        for commit in tape.existing:
            space = tape.spaces[commit.resource]
            self.revisions[space] = max(commit.revision, self.revisions[space])
        first: dict[str, int] = {}
        for commit in tape.commits:
            first.setdefault(tape.spaces[commit.resource], commit.revision)
        self.revisions |= {space: max(1, revision - 1) for space, revision in first.items()}
        self.compacted = dict(self.revisions)  # space -> its oldest resourceVersion that can be read
        self.played = 0

    def add(self, commits: Iterable[Commit]) -> set[Resource]:
        """Play these commits, and return the resources that they changed."""
        changed_resources = set()
        for commit in commits:
            log = self.logs[commit.resource]
            log.add(commit)
            changed_resources.add(commit.resource)
            self.revisions[log.space] = commit.revision
            self.played += 1
        return changed_resources

    def revision(self, resource: Resource) -> int:
        """Return the latest resourceVersion of the counter of a resource."""
        return self.revisions[self.logs[resource].space]

    def oldest(self, resource: Resource) -> int:
        """Return the oldest resourceVersion of a resource that can be read."""
        return self.compacted[self.logs[resource].space]

    def compact(self, revisions: dict[str, int] | None = None) -> None:
        """Forget what was before these resourceVersions; by default, before the latest ones."""
        self.compacted |= self.revisions if revisions is None else revisions
        for log in self.logs.values():
            log.drop(self.compacted[log.space])

    def restore(self, revisions: dict[str, int]) -> None:
        """Return to earlier resourceVersions, as an etcd does that is restored from a backup."""
        for log in self.logs.values():
            log.rewind(revisions[log.space])
        self.revisions = dict(revisions)
