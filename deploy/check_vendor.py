"""Check that each vendored file is identical to the one in the npm package whose version its VENDOR.json names.

This needs `npm` and a registry. If a file differs, it names the file and exits with 1.
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
    """Return the file as it is in the published package."""
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
        declared = json.loads(about.read_text(encoding="utf-8"))
        title = f"{declared['name']}@{declared['version']} {declared['file']}"
        ours = sha256((about.parent / declared["file"]).read_bytes())
        theirs = sha256(published(declared["name"], declared["version"], declared["path_in_package"]))
        licence = (about.parent / "LICENSE").is_file()
        fine = ours == theirs == declared["sha256"] and licence
        wrong += not fine
        reason = "" if licence else " (no LICENSE beside it)"
        print(f"{'ok    ' if fine else 'DIFFERS'} {title}: ours {ours[:12]}, npm's {theirs[:12]}{reason}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
