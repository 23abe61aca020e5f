"""Put the runs of one owner side by side: their roles, and the steps that correspond to each other. It does no I/O."""

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from timeline.comparing.lives import WORDS, GroupKind, Life, Step, Tree, between
from timeline.comparing.roles import Role, Roles, label, roles

_SINGLY = 8  # objects with ordinals are compared one by one up to this many; of more, the first and the last

# How a step reads in a sentence, after the object that took it.
_PHRASES = {
    "ready": "was ready",
    "started": "started",
    "restarted": "restarted",
    "finished": "finished",
    "changed": "changed its spec",
    "address": "got an address",
    "deleting": "was asked to be deleted",
}


class Node(NamedTuple):
    """A step that can be found in several runs: of the only object of a role, of one with a certain ordinal, or of the
    object that takes it first or last."""

    role: Role
    part: str  # "" for the only object, "first", "last", or the ordinal
    what: str

    @property
    def sort_key(self) -> tuple[bool, Role, str, int, str]:
        """Return a key that sorts creations before other steps."""
        order = list(WORDS).index(self.what) if self.what in WORDS else len(WORDS)
        return self.what != "created", self.role, self.part, order, self.what


Nodes = Mapping[Node, Step]


class Aligned(NamedTuple):
    """The runs of one owner, with what corresponds in them."""

    good: Sequence[Tree]
    bad: Tree
    good_roles: Sequence[Roles]
    bad_roles: Roles
    good_nodes: Sequence[Nodes]
    bad_nodes: Nodes
    good_kinds: Sequence[Mapping[GroupKind, bool]]
    bad_kinds: Mapping[GroupKind, bool]

    @property
    def every_role(self) -> list[Role]:
        """Return all roles that an object has in any run, sorted."""
        return sorted({role for each in (*self.good_roles, self.bad_roles) for role in each})

    @property
    def root_label(self) -> str:
        """Return the kind of the owner."""
        return label(Role("owned", ()), self.bad.root)

    def label(self, role: Role) -> str:
        return label(role, self.bad.root)

    def bad_life(self, node: Node) -> Life | None:
        """Return the object that took a step in the bad run."""
        step = self.bad_nodes.get(node)
        members = self.bad_roles.get(node.role, ())
        return next((member.life for member in members if step in member.life.steps), None)

    def named(self, node: Node) -> str:
        """Return a step as text: "last Pod created"."""
        return f"{self._object(node)} {WORDS.get(node.what, node.what)}"

    def clause(self, node: Node) -> str:
        """Return a step as a clause: "the last Pod was created"."""
        article = "" if node.part and node.part not in ("first", "last") else "the "
        return f"{article}{self._object(node)} {_phrase(node.what)}"

    def _object(self, node: Node) -> str:
        text = self.label(node.role)
        if node.part in ("first", "last"):
            return f"{node.part} {text}"
        return f"{text} {node.part}" if node.part else text


def _phrase(what: str) -> str:
    if what.startswith("phase "):
        return f"reached {what}"
    word = WORDS.get(what, what)
    return _PHRASES.get(what, word if word.startswith("lost ") else f"was {word}")


def align(
    good: Sequence[Tree],
    bad: Tree,
    good_kinds: Sequence[Mapping[GroupKind, bool]],
    bad_kinds: Mapping[GroupKind, bool],
) -> Aligned:
    """Return the runs of one owner side by side."""
    good_roles, bad_roles = [roles(tree) for tree in good], roles(bad)
    single = {role for role in bad_roles if _numbered([*good_roles, bad_roles], role)}
    many = {role for each in (*good_roles, bad_roles) for role in each if len(each[role]) > 1} - single
    good_nodes = [dict(_nodes(each, single, many)) for each in good_roles]
    return Aligned(
        good, bad, good_roles, bad_roles, good_nodes, dict(_nodes(bad_roles, single, many)), good_kinds, bad_kinds
    )


def _numbered(runs: Sequence[Roles], role: Role) -> bool:
    """Return whether the objects of a role are distinguished by ordinals, and are few, in all runs."""
    members = [each.get(role, ()) for each in runs]
    if max(map(len, members)) < 2 or max(map(len, members)) > _SINGLY:
        return False
    return all(member.ordinal and not member.number for each in members for member in each)


def _nodes(run: Roles, single: set[Role], many: set[Role]) -> Iterator[tuple[Node, Step]]:
    """Yield the steps of a run. Of the roles in `many`, these are the first and the last of each kind of step."""
    for role, members in run.items():
        if role not in many:
            for member in members:
                part = ".".join(map(str, member.ordinal)) if role in single else ""
                for step in member.life.steps:
                    yield Node(role, part, step.what), step
            continue
        by_what: dict[str, list[Step]] = {}
        for member in members:
            for step in member.life.steps:
                by_what.setdefault(step.what, []).append(step)
        for what, steps in by_what.items():
            yield Node(role, "first", what), min(steps, key=lambda step: step.place)
            yield Node(role, "last", what), max(steps, key=lambda step: step.place)


def since_root(tree: Tree, step: Step) -> tuple[int, int] | None:
    """Return the least and the most µs by which a step was committed after the first step of the root; negative if it
    came before; None if no clock bounds that."""
    if not tree.root.steps:
        return None
    one, other = tree.root.steps[0], step
    if one == other:
        return 0, 0
    if (length := between(one, other)) is not None:
        return None if length.most is None else (length.least, length.most)
    if (length := between(other, one)) is not None:
        return None if length.most is None else (-length.most, -length.least)
    return None
