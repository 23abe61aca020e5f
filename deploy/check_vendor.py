"""Checks that every vendored file is the one that npm serves under the version its VENDOR.json names.

Needs `npm` and a registry. Ends with 1 and says which file differs, if one does.
"""

import hashlib
import json
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

VENDOR = Path(__file__).resolve().parent.parent / "dashboard/static/dashboard/vendor"


def sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def published(name: str, version: str, path: str) -> bytes:
    """The file as it stands in the published package."""
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(["npm", "pack", "--silent", f"{name}@{version}"], cwd=folder, check=True, capture_output=True)
        (archive,) = Path(folder).glob("*.tgz")
        with tarfile.open(archive) as package:
            member = package.extractfile(f"package/{path}")
            assert member is not None
            return member.read()


def main() -> int:
    wrong = 0
    for about in sorted(VENDOR.glob("*/VENDOR.json")):
        said = json.loads(about.read_text(encoding="utf-8"))
        title = f"{said['name']}@{said['version']} {said['file']}"
        ours = sha256((about.parent / said["file"]).read_bytes())
        theirs = sha256(published(said["name"], said["version"], said["path_in_package"]))
        licence = (about.parent / "LICENSE").is_file()
        fine = ours == theirs == said["sha256"] and licence
        wrong += not fine
        reason = "" if licence else " (no LICENSE beside it)"
        print(f"{'ok    ' if fine else 'DIFFERS'} {title}: ours {ours[:12]}, npm's {theirs[:12]}{reason}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
