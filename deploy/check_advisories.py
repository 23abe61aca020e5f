"""Compare the locked versions of all packages with known vulnerabilities, and exit with 1 if one of them is vulnerable.

deploy/advisories.json has the advisories about packages that are locked, with their source and the date of that. It is
what is known without a network, and it grows old. So OSV (https://osv.dev) is asked as well where it can be reached;
where it cannot, this says so, and the file alone decides. What is accepted nevertheless is listed with its reason.

`--from FOLDER` writes the file again from a copy of https://github.com/pypa/advisory-database, whose folder `vulns`
has a file for each advisory, in the form of OSV.
"""

import argparse
import json
import re
import subprocess
import sys
import urllib.request
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

import yaml
from packaging.utils import canonicalize_name
from packaging.version import InvalidVersion, Version

ROOT = Path(__file__).resolve().parent.parent
FILE = ROOT / "deploy/advisories.json"
OSV = "https://api.osv.dev/v1/querybatch"
_SECONDS = 10
_LOCKED = re.compile(r"^([A-Za-z0-9._-]+)==([^\s;\\]+)", re.MULTILINE)


class Package(NamedTuple):
    """One locked package."""

    name: str
    version: str


def locked() -> list[Package]:
    """Return the packages of all lock files."""
    text = "\n".join(path.read_text(encoding="utf-8") for path in sorted(ROOT.glob("requirements*.lock")))
    return sorted({Package(canonicalize_name(name), version) for name, version in _LOCKED.findall(text)})


def affects(advisory: dict[str, Any], version: str) -> bool:
    """Return whether an advisory is about a version: its `ranges` are pairs of the first version that is vulnerable and
    the first that is not any more, or None."""
    given = Version(version)
    return any(
        Version(first) <= given and (fixed is None or given < Version(fixed)) for first, fixed in advisory["ranges"]
    )


def known(packages: Iterable[Package], document: dict[str, Any]) -> list[str]:
    """Return a sentence for each locked package that an advisory of the file is about."""
    return [
        f"{package.name} {package.version}: {each['id']} ({', '.join(each['aliases'])})"
        for package in packages
        for each in document["advisories"].get(package.name, [])
        if each["id"] not in document["accepted"] and affects(each, package.version)
    ]


def asked(packages: list[Package], document: dict[str, Any], address: str = OSV) -> list[str]:
    """Return a sentence for each locked package that OSV names an advisory for. Raise OSError if it cannot be asked,
    and ValueError if it answers something else."""
    queries = [{"package": {"name": each.name, "ecosystem": "PyPI"}, "version": each.version} for each in packages]
    request = urllib.request.Request(
        address, json.dumps({"queries": queries}).encode(), {"Content-Type": "application/json"}
    )
    with urllib.request.urlopen(request, timeout=_SECONDS) as answer:
        results = json.load(answer)["results"]
    return [
        f"{package.name} {package.version}: {found['id']}"
        for package, result in zip(packages, results, strict=True)
        for found in result.get("vulns", [])
        if found["id"] not in document["accepted"]
    ]


def written(folder: Path, accepted: dict[str, str]) -> dict[str, Any]:
    """Return the document of the advisories in a copy of the database about packages that are locked."""
    commit = subprocess.run(
        ["git", "-C", str(folder), "log", "-1", "--format=%H %cs"], check=True, capture_output=True, text=True
    ).stdout.split()
    advisories: dict[str, list[dict[str, Any]]] = {}
    for name in sorted({each.name for each in locked()}):
        found = [_advisory(path, name) for path in sorted((folder / "vulns" / name).glob("*.yaml"))]
        if kept := [each for each in found if each]:
            advisories[name] = kept
    return {
        "source": "https://github.com/pypa/advisory-database",
        "commit": commit[0],
        "date": commit[1],
        "accepted": accepted,
        "advisories": advisories,
    }


def _advisory(path: Path, name: str) -> dict[str, Any] | None:
    document = yaml.safe_load(path.read_text(encoding="utf-8"))
    if document.get("withdrawn"):
        return None
    ranges = []
    for affected in document["affected"]:
        if canonicalize_name(affected["package"]["name"]) != name:
            continue
        for each in affected.get("ranges", []):
            if each["type"] == "ECOSYSTEM":
                ranges += _pairs(each["events"])
        if not affected.get("ranges"):
            ranges += [(version, f"{version}.post0") for version in map(str, affected.get("versions", []))]
    return {"id": document["id"], "aliases": document.get("aliases", []), "ranges": ranges} if ranges else None


def _pairs(events: list[dict[str, Any]]) -> list[tuple[str, str | None]]:
    found: list[tuple[str, str | None]] = []
    for event in events:
        if "introduced" in event:
            found.append((_version(event["introduced"]), None))
        elif "fixed" in event and found:
            found[-1] = (found[-1][0], _version(event["fixed"]))
    return found


def _version(given: object) -> str:
    try:
        return str(Version(str(given)))
    except InvalidVersion:
        return "0"  # which makes everything before the end vulnerable, rather than nothing


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--from", dest="folder", type=Path, help="a copy of the advisory database of PyPI")
    folder = parser.parse_args().folder
    document = json.loads(FILE.read_text(encoding="utf-8")) if FILE.exists() else {"accepted": {}}
    if folder:
        document = written(folder, document["accepted"])
        FILE.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
    packages = locked()
    vulnerable = known(packages, document)
    count = sum(map(len, document["advisories"].values()))
    print(f"{len(packages)} locked packages, {count} advisories of {document['date']}", end="; ")
    try:
        vulnerable += asked(packages, document)
        print("OSV was asked.")
    except (OSError, ValueError, KeyError) as error:
        print(f"OSV cannot be asked now ({type(error).__name__}), so newer advisories are not known.")
    for each in vulnerable:
        print(f"vulnerable: {each}")
    return 1 if vulnerable else 0


if __name__ == "__main__":
    sys.exit(main())
