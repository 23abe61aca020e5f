"""`make image-pin` runs this program. It asks the registries which digest the tag of each base image has now, and
writes it where the image is named: in the Dockerfile, in docker-compose.yml and in the values of the Helm chart.

To move to another version, change the tags first. It needs Docker with buildx, and the network.
"""

import argparse
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FILES = ("Dockerfile", "docker-compose.yml", "deploy/chart/causeline/values.yaml")
_PINNED = re.compile(r"(?P<image>[\w./-]+:[\w.-]+)@sha256:(?P<digest>[0-9a-f]{64})")


def digest_now(image: str) -> str:
    """Return the digest that the tag of an image has in its registry, as 64 hexadecimal digits."""
    command = ["docker", "buildx", "imagetools", "inspect", "--format", "{{.Manifest.Digest}}", image]
    answer = subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    if not re.fullmatch(r"sha256:[0-9a-f]{64}", answer):
        raise ValueError(f"{image}: the registry answered {answer[:100]!r}, which is no digest")
    return answer.removeprefix("sha256:")


def pinned(text: str, digest_of: Callable[[str], str]) -> str:
    """Return a text with the digests of all images that it names replaced with those of `digest_of`."""
    return _PINNED.sub(lambda match: f"{match['image']}@sha256:{digest_of(match['image'])}", text)


def main() -> None:
    argparse.ArgumentParser(description=__doc__).parse_args()
    try:
        changed = {name: pinned((ROOT / name).read_text(encoding="utf-8"), digest_now) for name in FILES}
    except FileNotFoundError:
        sys.exit("docker is not installed; nothing was changed.")
    except subprocess.CalledProcessError as error:
        sys.exit(f"docker could not ask for a digest; nothing was changed: {error.stderr.strip()}")
    for name, text in changed.items():
        (ROOT / name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
