"""Find out what the incident of a finding is about, and write the title of an incident. It does no I/O.

An incident is what a person calls one thing: all findings of one rule about one anchor, across subjects, incarnations
and time. The anchor is a name without UID, so an object that is deleted and created again stays in one incident. By
default it is the root owner of the subject. A rule names another one where that is what a person would look at: the
Lease, the Service, the missing object.
"""

from collections.abc import Collection

from msgspec.structs import replace

from timeline.core.actors import KIND as ACTOR
from timeline.history.lifelines import Name, Track
from timeline.history.world.world import World
from timeline.judging.findings import Finding, digest

NAME = 6  # characters of the name of an incident


def anchored(finding: Finding, subject: Track, world: World) -> Finding:
    """Return the finding with its anchor: the root owner of the judged subject unless the rule has named another."""
    return finding if finding.anchor else replace(finding, anchor=world.root(subject).name)


def identity(rule: str, anchor: Name) -> str:
    """Return the stable key of an incident within a cluster, or within a recording."""
    return digest("incident", rule, *anchor)


def short_name(identity: str) -> str:
    """Return the name by which people call an incident: the beginning of its identity, such as "a2f31c".

    It depends on nothing else, so it stays the same when other incidents come, and for readers who see only a part of
    the source. With one character more, GitHub and GitLab would take it for a commit.
    """
    return identity[:NAME]


def distinct_title(title: str, namespace: str, namespaces: Collection[str]) -> str:
    """Return the title of an incident in this namespace, after the namespace where incidents of several `namespaces`
    have the title: objects in them may have one name."""
    return f"{namespace}: {title}" if namespace and len({namespace, *namespaces}) > 1 else title


def title(
    template: str, anchor: Name, kinds: Collection[str], subjects: int, subject: str, count: int, times: int
) -> str:
    """Return the title of an incident of several findings, from the template of its rule (`Rule.incident`).

    `kinds` are the kinds of its subjects, `subjects` is their number, and `subject` is kind and name of one of them.
    `count` is the number of objects that were too many, and `times` says how often it happened: rules whose
    occurrences hold several tries do not name it.
    """
    named = f"{subjects} {min(kinds)}s" if len(kinds) == 1 else f"{subjects} objects"
    return template.format(
        anchor=anchor.name if anchor.kind == ACTOR else f"{anchor.kind} {anchor.name}",
        subjects=named if subjects > 1 else subject,
        count=count,
        times=f", {times} times" if times > 1 else "",
    )
