"""Build a release of the last commit into dist/: wheel, sdist, SBOM, and a file with the SHA-256 of each."""

import hashlib
import io
import os
import subprocess
import sys
import tarfile
import tempfile
from datetime import UTC, datetime
from pathlib import Path

from dashboard import __version__
from deploy import sbom

ROOT = Path(__file__).resolve().parent.parent
SUMS = "SHA256SUMS"


def build(source: Path, dist: Path, made: datetime) -> list[Path]:
    """Build the source tree into the folder `dist`, which must be empty, and return the files.

    The wheel is built from the sdist, so the sdist is known to be complete. The SBOM and the files in the wheel carry
    the time `made`.
    """
    command: list[str | Path] = [sys.executable, "-m", "build", "--no-isolation", "--outdir", dist, source]
    environment = {**os.environ, "SOURCE_DATE_EPOCH": str(int(made.timestamp()))}
    result = subprocess.run(command, cwd=dist, env=environment, capture_output=True, text=True)
    if result.returncode:
        raise SystemExit(f"The build failed:\n{result.stdout}{result.stderr}")
    bom = dist / f"causeline-{__version__}.cdx.json"
    bom.write_text(sbom.document(source, __version__, made), encoding="utf-8")
    files = sorted(dist.iterdir())
    sums = "".join(f"{hashlib.sha256(file.read_bytes()).hexdigest()}  {file.name}\n" for file in files)
    (dist / SUMS).write_text(sums, encoding="utf-8")
    return [*files, dist / SUMS]


def _git(*arguments: str) -> str:
    return subprocess.run(["git", *arguments], cwd=ROOT, check=True, capture_output=True, text=True).stdout.strip()


def main() -> None:
    dist = ROOT / "dist"
    dist.mkdir(exist_ok=True)
    if left := sorted(path.name for path in dist.iterdir()):
        raise SystemExit(f"{dist} still holds {', '.join(left)}. Remove it and start again.")
    if _git("status", "--porcelain"):
        raise SystemExit(
            "There are uncommitted changes. Commit or stash them: a release is built from the last commit."
        )
    made = datetime.fromtimestamp(int(_git("log", "-1", "--format=%ct")), UTC)
    with tempfile.TemporaryDirectory() as folder:
        archive = subprocess.run(["git", "archive", "HEAD"], cwd=ROOT, check=True, capture_output=True).stdout
        with tarfile.open(fileobj=io.BytesIO(archive)) as tree:
            tree.extractall(folder, filter="data")
        for file in build(Path(folder), dist, made):
            print(file.relative_to(ROOT))


if __name__ == "__main__":
    main()
