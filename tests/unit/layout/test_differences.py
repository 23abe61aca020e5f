"""These tests compare objects of every shape: differences are right, and what would take long is refused."""

import random
import time
from collections import Counter
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import msgspec
import pytest

from tests.properties import sampled
from timeline.layout import bodies
from timeline.layout.bodies import Line, TooLarge, Work


def nested(depth: int, innermost: Any, **beside: Any) -> Any:
    for _ in range(depth):
        innermost = {"k": innermost, **beside}
    return innermost


Shape = Callable[[int], Any]

# Each gives the object of a revision. Beside sizes, these make comparing slow: many equal lines, few different ones,
# none in common, all in another order, and YAML that is much longer than its JSON.
SHAPES: dict[str, Shape] = {
    "a third of 9,500 keys": lambda i: {f"key-{j}": f"value {j} {0 if j % 3 else i}" for j in range(9_500)},
    "100,000 keys": lambda i: {f"{j:x}": i for j in range(100_000)},
    "equal lines": lambda i: ["x"] * (70_000 - i),
    "equal lines, fewer": lambda i: [i, *["x"] * (3_000 - i), i],
    "few different lines": lambda i: [f"x{random.Random(i * 10**6 + j).randrange(9)}" for j in range(3_000)],
    "nothing in common": lambda i: [f"{i}-{j}" for j in range(20_000)],
    "another order": lambda i: random.Random(i).sample(range(10_000), 10_000),
    "every other line": lambda i: [2 * j if i % 2 else j for j in range(4_000)],
    "one line of a megabyte": lambda i: "y " * 500_000 + str(i),
    "a text of 60,000 lines": lambda i: "\n".join(f"{i if j % 2 else 0} {j % 9}" for j in range(60_000)),
    "nested deeply": lambda i: nested(100, {}, t=["x"] * 150 + [str(i)]),
    "numbers that take long to read": lambda i: [1e308, i] * 30_000,
    "a long text, nested deeply": lambda i: nested(190, "x\n" * 100_000 + str(i)),
}  # fmt: skip


def written(spec: Any) -> bytes:
    return msgspec.json.encode({"metadata": {"name": "x"}, "spec": spec})


def pace() -> float:
    """Return how many seconds of processor time this machine takes now for work that is always the same. Other programs
    make all work slower, although they have their own time."""
    start = time.thread_time()
    assert sum(len(str(number).split("1")) for number in range(300_000)) > 0
    return time.thread_time() - start


@pytest.mark.parametrize("shape", sampled(SHAPES, 5))
def test_a_page_of_changes_costs_a_bounded_time(shape: str) -> None:
    states = [written(SHAPES[shape](number)) for number in range(4)] * 6
    small = written({"replicas": 1}), written({"replicas": 2})
    work, before_it = Work(), pace()
    start = time.thread_time()
    for before, after in pairwise(states):
        try:
            bodies.change(before, after, work)
        except TooLarge:
            continue
    assert {Line("-", "  replicas: 1"), Line("+", "  replicas: 2")} <= {*bodies.change(*small, work)}
    taken = time.thread_time() - start
    assert taken < 28 * max(before_it, pace())  # 1.5 s where nothing else runs


def test_large_objects_with_few_changes_are_compared() -> None:
    def endpoints(*left_out: int) -> bytes:
        return written([{"ip": f"10.0.0.{j}", "nodeName": "n", "targetRef": {"kind": "Pod", "name": f"p-{j}"}}
                        for j in range(1_000) if j not in left_out])  # fmt: skip

    lines = bodies.change(endpoints(5), endpoints(990), Work())
    assert next(line.text for line in lines if line.kind == "+") == "- ip: 10.0.0.5"
    assert Counter(line.kind for line in lines)["-"] == Counter(line.kind for line in lines)["+"] == 5


def test_what_is_removed_and_added_makes_one_text_of_the_other() -> None:
    chance = random.Random(1)
    for _ in range(200):
        old, new = ([chance.choice("abcdefgh") for _ in range(chance.randrange(40))] for _ in range(2))
        new = old[: chance.randrange(40)] + new + old[chance.randrange(40) :]
        changed: dict[str, Counter[str]] = {"+": Counter(), "-": Counter(), " ": Counter(), "@": Counter()}
        for line in bodies.difference(old, new, Work()):
            changed[line.kind][line.text] += 1
        assert Counter(old) - changed["-"] + changed["+"] == Counter(new) and not changed["-"] - Counter(old)


def test_paths_name_the_keys_above_a_change() -> None:
    def pod(image: str, phase: str) -> bytes:
        containers = [{"name": "a", "image": "x", "env": [{"name": "A", "value": "1"}]}, {"name": "b", "image": image}]
        filler = {f"f{number}": number for number in range(9)}
        return written(
            {"template": {"containers": containers}, "z": filler, "zz": {"deep": {"phase": phase, **filler}}}
        )

    lines = bodies.change(pod("one", "old"), pod("two", "new"), Work())
    assert [line.text for line in lines if line.kind == "@"] == ["spec.template.containers", "spec.zz.deep"]
