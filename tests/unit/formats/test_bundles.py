"""These tests read the archives of tools that collect the state of a cluster: each file is read, or named."""

import gzip
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from msgspec.structs import replace

from collectors.formats import Skipped, read
from collectors.formats.rejections import certain_rejection
from tests.inputs.bundles import BUNDLES, Bundle, thing
from tests.inputs.objects import items_of, refusal
from tests.inputs.recordings import world_of
from tests.unit.formats.stream.packing import Files, tar, written, zipped
from timeline.core.entries import Entry, LogLine

MADE = 1_795_250_000


def _folder(files: Files, at: Path) -> None:
    written(at, files)
    for name in files:
        os.utime(at / name, (MADE, MADE))


def _packed(pack: Callable[[Files], bytes]) -> Callable[[Files, Path], None]:
    def write(files: Files, at: Path) -> None:
        at.write_bytes(pack(files))
        os.utime(at, (MADE, MADE))

    return write


PACKS: dict[str, Callable[[Files, Path], None]] = {
    "a folder": _folder,
    "a tar.gz": _packed(lambda files: gzip.compress(tar(files))),
    "a zip": _packed(zipped),
    "a tar in a zip": _packed(lambda files: zipped({"inner.tar": tar(files)})),
    "a tar of compressed files": _packed(
        lambda files: tar({f"{name}.gz": gzip.compress(files[name]) for name in files})
    ),
}


def observed(bundle: Bundle, pack: str, folder: Path) -> list[Any]:
    at = folder / pack / bundle.name
    at.parent.mkdir()
    PACKS[pack](bundle.files, at)
    return list(read([(at, at.name)], bodies=True))


@pytest.mark.parametrize("tool", BUNDLES)
def test_every_file_is_read_or_named_with_why_not(tool: str, tmp_path: Path) -> None:
    bundle = BUNDLES[tool]()
    items = observed(bundle, "a tar.gz", tmp_path)
    entries = [each for each in items if isinstance(each, Entry)]
    assert {f"{each.ref.kind}/{each.ref.namespace}/{each.ref.name}" for each in entries} == bundle.objects
    logs = {each.log for each in items if isinstance(each, LogLine)}
    assert len(logs) == len(bundle.logs)
    assert all(any(log.endswith(wanted) for log in logs) for wanted in bundle.logs), logs
    skipped = [each for each in items if isinstance(each, Skipped)]
    assert all(any(each.file.endswith(name) for name in bundle.unread) for each in skipped), skipped
    read_from = {each.place.file for each in items if not isinstance(each, Skipped) and each.place}
    named = {file.split("/", 1)[1] for file in (*read_from, *(each.file for each in skipped))}
    assert named == set(bundle.files)
    assert all(each.reason for each in skipped)


@pytest.mark.parametrize("tool", BUNDLES)
def test_however_a_bundle_is_packed_it_shows_the_same(tool: str, tmp_path: Path) -> None:
    bundle = BUNDLES[tool]()

    def shown(pack: str) -> list[str]:
        items = observed(bundle, pack, tmp_path)
        logs = (each for each in items if isinstance(each, LogLine))
        lines = [replace(each, log=each.log.removesuffix(".gz")[-16:], place=None) for each in logs]
        entries = [replace(each, place=None) for each in items if isinstance(each, Entry)]
        skipped = [each.reason for each in items if isinstance(each, Skipped)]
        return sorted(map(repr, (*lines, *entries, *skipped)))

    expected = shown("a folder")
    for pack in PACKS:
        assert pack == "a folder" or shown(pack) == expected, pack


def test_an_object_that_velero_stores_twice_is_one(tmp_path: Path) -> None:
    items = observed(BUNDLES["velero"](), "a tar.gz", tmp_path)
    tracks = world_of([each for each in items if not isinstance(each, Skipped)]).tracks()
    counts = [("Deployment", 1), ("Node", 1), ("Pod", 1)]
    assert sorted((track.ref.kind, len(track.moments)) for track in tracks) == counts


@pytest.mark.parametrize("layout", [{}, {"indent": 2}, None])
def test_a_config_of_an_api_group_is_no_kubeconfig(layout: dict[str, Any] | None) -> None:
    group = thing("Config", "cluster", 7, namespace="", api="operator.openshift.io/v1")
    both = ({"kind": "Config", **group}, {"apiVersion": group["apiVersion"], **group})
    for each in both:
        content = yaml.dump(each).encode() if layout is None else json.dumps(each, **layout).encode()
        (entry,) = items_of(content)
        assert isinstance(entry, Entry) and entry.ref.kind == "Config"
    login = {"exec": {"apiVersion": "client.authentication.k8s.io/v1", "command": "login"}}
    kubeconfig = {"apiVersion": "v1", "kind": "Config", "clusters": [], "users": [{"name": "u", "user": login}]}
    content = yaml.dump(kubeconfig).encode() if layout is None else json.dumps(kubeconfig, **layout).encode()
    assert "it is a kubeconfig" in refusal(content, "file")
    assert "it is a kubeconfig" in certain_rejection(content)


def test_what_rancher_writes_for_null_is_null(tmp_path: Path) -> None:
    items = observed(BUNDLES["rancher"](), "a zip", tmp_path)
    (event,) = (each for each in items if isinstance(each, Entry) and each.ref.kind == "Event")
    assert b'"null"' not in event.body and b'"eventTime":null' in event.body
