"""Find the role of an object in a run, such as "the second Pod of the Job". Objects with the same role in two runs are
compared, even if their names and times differ. It does no I/O."""

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from timeline.comparing.lives import GroupKind, Life, Relation, Tree
from timeline.core.entries import ObjectRef
from timeline.kinds import qualified

# Random words: suffixes that Kubernetes makes up (generateName, pod-template-hash), and letters mixed with digits.
_RANDOM = re.compile(r"[bcdfghjklmnpqrstvwxz2456789]{5,10}|(?=.*[a-z])(?=.*[0-9])[0-9a-z]{4,}")
_SUFFIX = re.compile(r"(?<=-)([bcdfghjklmnpqrstvwxz2456789]{8,10}-)?[bcdfghjklmnpqrstvwxz2456789]{5}$|(?<=-)[0-9]{6,}$")
_ORDINAL = 5  # the most digits of an ordinal; a longer number is a time, as in the names of a CronJob's Jobs


class Role(NamedTuple):
    """What an object is in its run: the relation to the root, and kind and template of each object from the root's
    child down to it. The root's own path is empty."""

    relation: Relation
    path: tuple[tuple[str, str, str], ...]  # (group, kind, template of the name)

    @property
    def kind(self) -> GroupKind | None:
        """Return the kind of its objects; None for the root."""
        return self.path[-1][:2] if self.path else None


class Member(NamedTuple):
    """An object in its role. Members of several runs correspond if their ordinal and their number agree."""

    life: Life
    ordinal: tuple[int, ...]  # its completion index, or the numbers in its name; empty without any
    number: int  # its place in the order of creation among the objects of its ordinal, from 0

    @property
    def place(self) -> tuple[tuple[int, ...], int]:
        return self.ordinal, self.number


Roles = Mapping[Role, Sequence[Member]]


def roles(tree: Tree) -> Roles:
    """Return the members of each role of a tree, in the order of their creation."""
    by_key = {life.key: life for life in tree.lives}
    found: dict[Role, list[Member]] = defaultdict(list)
    numbers: dict[tuple[Role, tuple[int, ...]], int] = defaultdict(int)
    for life in sorted(tree.lives, key=lambda each: (each.first, each.ref.name, each.key)):
        role, ordinal = _role(life, tree.root, by_key)
        found[role].append(Member(life, ordinal, numbers[role, ordinal]))
        numbers[role, ordinal] += 1
    return found


def _role(life: Life, root: Life, by_key: Mapping[str, Life]) -> tuple[Role, tuple[int, ...]]:
    if life.relation != "owned":
        return Role(life.relation, ((life.ref.group, life.ref.kind, ""),)), _numbers(life, "")
    path: list[tuple[str, str, str]] = []
    ordinal: tuple[int, ...] = ()
    each = life
    while each.key != root.key:
        owner = by_key.get(each.parent, root)
        path.append((each.ref.group, each.ref.kind, template(each.ref.name, owner.ref.name)))
        if each is life:
            ordinal = _numbers(life, owner.ref.name)
        if len(path) > len(by_key):
            break
        each = owner
    return Role("owned", tuple(reversed(path))), ordinal


def template(name: str, owner: str) -> str:
    """Return the part of a name that its owner gives to all objects of this role: without the owner's name, with * for
    what is random, and # for ordinals."""
    return "-".join(_part(part) for part in _rest(name, owner).split("-"))


def _rest(name: str, owner: str) -> str:
    return "" if name == owner else name.removeprefix(f"{owner}-")


def _part(part: str) -> str:
    if part.isdecimal():
        return "#" if len(part) <= _ORDINAL else "*"
    return "*" if _RANDOM.fullmatch(part) else part


def _numbers(life: Life, owner: str) -> tuple[int, ...]:
    if life.completion >= 0:
        return (life.completion,)
    parts = _rest(life.ref.name, owner).split("-") if owner else []
    return tuple(int(part) for part in parts if part.isdecimal() and len(part) <= _ORDINAL)


def root_role(ref: ObjectRef) -> tuple[str, str, str, str]:
    """Return the role of a root in a whole recording: its namespace, kind and name without a generated suffix."""
    return ref.namespace, ref.group, ref.kind, _SUFFIX.sub("*", ref.name)


def label(role: Role, root: Life) -> str:
    """Return the role as text: "Pod", "PersistentVolumeClaim data of Pod", "Service that it needs"."""
    if not role.path:
        return qualified(root.ref.group, root.ref.kind)
    group, kind, _ = role.path[-1]
    fixed = _fixed(role)
    text = qualified(group, kind) + (f" {fixed}" if fixed else "")
    if role.relation == "needed":
        return f"{text} that it needs"
    return f"{text} that needs it" if role.relation == "needs it" else text


def _fixed(role: Role) -> str:
    """Return the part of the template that is not made up."""
    form = role.path[-1][2] if role.path else ""
    return "-".join(part for part in form.split("-") if part not in ("*", "#", ""))


def counted(role: Role, count: int, *, bare: bool = False) -> str:
    """Return a number of objects of a role as text: "3 Pods", "no Service that it needs". With `bare`, leave the number
    out."""
    group, kind, _ = role.path[-1] if role.path else ("", "object", "")
    single = qualified(group, kind)
    many = single if kind.endswith("s") else f"{kind}s{single.removeprefix(kind)}"
    one = count == 1
    related = {"owned": "", "needed": " that it needs", "needs it": f" that need{'s' if one else ''} it"}[role.relation]
    fixed = _fixed(role)
    number = "" if bare else f"{count or 'no'} "
    return f"{number}{single if one else many}{f' {fixed}' if fixed else ''}{related}"
