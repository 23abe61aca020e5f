#!/bin/sh
# bootstrap.sh LOCK makes .venv if it does not exist, and installs exactly the packages of the file LOCK into it.
# The checkout is on the environment's path, so edits take effect at once and nothing has to be built.
set -eu
cd "$(dirname "$0")/.."

fail() {
    echo "causeline: $*" >&2
    exit 1
}

find_python() {
    for name in ${PYTHON:-python3 python3.13 python3.12 python3.11}; do
        if "$name" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
            echo "$name"
            return
        fi
    done
    fail "no Python 3.11 or newer found (looked for ${PYTHON:-python3, python3.13, python3.12, python3.11})."
}

# On Debian and Ubuntu, the modules that `python3 -m venv` needs are a package of their own.
need_venv_module() {
    "$1" -c 'import ensurepip, venv' 2>/dev/null && return
    package=$("$1" -c 'import sys; print("python{}.{}-venv".format(*sys.version_info))')
    command -v apt-get >/dev/null || fail "$1 has no venv and ensurepip; install them with your package manager."
    [ "$(id -u)" = 0 ] || fail "$1 cannot make environments; run: sudo apt-get install $package"
    apt-get update -q
    DEBIAN_FRONTEND=noninteractive apt-get install -qy --no-install-recommends "$package"
}

if ! .venv/bin/python -c 'import pip' 2>/dev/null; then
    python=$(find_python)
    need_venv_module "$python"
    "$python" -m venv --clear .venv
fi

.venv/bin/python -m pip install --disable-pip-version-check --quiet --require-hashes -r "$1"

.venv/bin/python - <<'PYTHON'
import shlex, sys, sysconfig
from pathlib import Path

Path(sysconfig.get_path("purelib"), "causeline.pth").write_text(f"{Path.cwd()}\n", encoding="utf-8")
code = "import sys; from dashboard.cli.__main__ import main; sys.argv[0] = 'causeline'; sys.exit(main())"
script = Path(".venv/bin/causeline")
script.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -P -c {shlex.quote(code)} "$@"\n', encoding="utf-8")
script.chmod(0o755)
PYTHON

# Started as root, Causeline runs as an account that cannot write bytecode here, so the modules are compiled now.
.venv/bin/python -m compileall -q collectors dashboard timeline
