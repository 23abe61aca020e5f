"""Install exactly the packages of a lock file into .venv, whose Python runs this program, and the command `causeline`.

    .venv/bin/python deploy/install.py requirements.lock

Python's own pip fetches uv, which then downloads and unpacks the rest side by side, in a tenth of pip's time; if uv
fails, pip installs the rest, too. Both check the hashes of the lock. The checkout is on the environment's path, so
edits take effect at once and nothing has to be built. It needs the standard library alone.
"""

import ast
import ensurepip
import os
import re
import shlex
import subprocess
import sys
import sysconfig
from importlib.util import find_spec
from pathlib import Path

VENV = Path(".venv")
WHEELS = (Path(ensurepip.__file__).parent / "_bundled", Path("/usr/share/python-wheels"))  # the second is Debian's
AS_UV = {  # by a setting of pip, the variable of uv that means the same: where packages are, and how to get there
    "cert": "SSL_CERT_FILE",
    "client-cert": "SSL_CLIENT_CERT",
    "extra-index-url": "UV_INDEX",
    "find-links": "UV_FIND_LINKS",
    "index-url": "UV_DEFAULT_INDEX",
    "no-index": "UV_NO_INDEX",
    "proxy": "ALL_PROXY",
    "trusted-host": "UV_INSECURE_HOST",
}
# The processes import little or nothing from these packages, so compiling them would cost more than it saves.
UNCOMPILED = r"/(kubernetes|plotly|narwhals|aiohttp|prompt_toolkit|wcwidth|socialaccount/providers|contrib/gis|tests?)/"
CODE = "import sys; from dashboard.cli.__main__ import main; sys.argv[0] = 'causeline'; sys.exit(main())"


def main() -> None:
    lock = sys.argv[1]
    uv, pip = VENV / "bin/uv", own_pip()
    if not uv.exists():
        pinned = re.search(r"^uv==(?:.*\\\n)*.*\n", Path("requirements-dev.lock").read_text("utf-8"), re.MULTILINE)
        assert pinned
        only = VENV / "uv.lock"
        only.write_text(pinned[0], encoding="utf-8")
        subprocess.run([*pip, "install", "--quiet", "--no-compile", "--require-hashes", "-r", only], check=True)
    wanted = ["--require-hashes", "-r", lock]
    by_uv = [str(uv), "pip", "install", "--quiet", "--python", sys.executable, *wanted]
    if subprocess.run(by_uv, env=os.environ | settings_of(pip)).returncode:
        print("causeline: uv could not install the packages; pip tries it.", file=sys.stderr)
        subprocess.run([*pip, "install", "--quiet", *wanted], check=True)
    packages = sysconfig.get_path("purelib")
    Path(packages, "causeline.pth").write_text(f"{Path.cwd()}\n", encoding="utf-8")
    script = VENV / "bin/causeline"
    script.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -P -c {shlex.quote(CODE)} "$@"\n', "utf-8")
    script.chmod(0o755)
    if os.geteuid() == 0:  # Causeline then runs as an account that cannot write bytecode here
        folders = ["collectors", "dashboard", "timeline", packages]
        subprocess.run([sys.executable, "-m", "compileall", "-q", "-j", "0", "-x", UNCOMPILED, *folders], check=False)


def own_pip() -> list[str]:
    """Return the command pip: that of the environment, or the one that Python would install, as it is packed."""
    wheels = (each for folder in WHEELS for each in folder.glob("pip-*.whl"))
    if find_spec("pip"):
        pip = ["-m", "pip"]
    elif wheel := next(wheels, None):
        pip = [f"{wheel}/pip"]
    else:
        subprocess.run([sys.executable, "-m", "ensurepip"], check=True, stdout=subprocess.DEVNULL)
        pip = ["-m", "pip"]
    return [sys.executable, *pip, "--disable-pip-version-check"]


def settings_of(pip: list[str]) -> dict[str, str]:
    """Return the variables with which uv installs from where pip would. Variables of pip win over its files."""
    listed = subprocess.run([*pip, "config", "list"], capture_output=True, text=True).stdout.splitlines()
    found = {}
    for line in sorted(listed, key=lambda each: each.startswith(":env:")):
        name, _, value = line.partition("=")
        if variable := AS_UV.get(name.rpartition(".")[2]):
            words = str(ast.literal_eval(value)).split()
            found[variable] = ("," if variable == "UV_FIND_LINKS" else " ").join(words)
    return found


if __name__ == "__main__":
    main()
