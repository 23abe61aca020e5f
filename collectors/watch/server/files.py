"""Read the small files of a kubeconfig, only from allowed folders.

Paths are compared after links are resolved, on both sides of the comparison. Errors do not quote contents.
"""

import os
import stat
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from collectors.watch.server.failures import Unusable

MOST_BYTES = 1 << 20  # bytes of a kubeconfig, and of each file that it names


class Allowed(NamedTuple):
    """From where files may be read."""

    folders: tuple[Path, ...] | None  # None: from any folder
    never: tuple[Path, ...] = ()  # but not from these, even inside one of the folders

    def read(self, path: Path, called: str = "") -> bytes:
        """Return the content of a regular file of at most MOST_BYTES.

        Messages use `called` instead of the path. Raise Unusable.
        """
        called = called or str(path)
        try:
            real = path.resolve(strict=True)
            if lies_in(real, self.never):
                raise Unusable(f"{called} lies among the uploads, where no kubeconfig and no part of one can be.")
            if self.folders is not None and not lies_in(real, self.folders):
                raise Unusable(
                    f"{called} lies outside the folders from which Causeline may read it: "
                    f"{', '.join(map(str, self.folders))}. Put it into one of them, or name its folder in "
                    "CAUSELINE_KUBECONFIG_DIRS."
                )
            # Open the path that was checked, and do not follow a link that has replaced it meanwhile.
            handle = os.open(real, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
            with os.fdopen(handle, "rb") as file:
                if not stat.S_ISREG(os.fstat(handle).st_mode):
                    raise Unusable(f"{called} is not a regular file.")
                content = file.read(MOST_BYTES + 1)
        except OSError as error:
            raise Unusable(f"{called} cannot be read where Causeline runs: {error.strerror}.") from None
        except (RuntimeError, ValueError):  # a circle of links, or an invalid path
            raise Unusable(f"{called} cannot be read where Causeline runs: it is not a path to a file.") from None
        if len(content) > MOST_BYTES:
            raise Unusable(f"{called} is larger than {MOST_BYTES >> 20} MiB, which no part of a kubeconfig is.")
        return content


def lies_in(path: Path, folders: Iterable[Path]) -> bool:
    """Return whether a path is in one of the folders, or is one, after links are resolved on both sides."""
    real = path.resolve()
    return any(real.is_relative_to(folder.resolve()) for folder in folders)
