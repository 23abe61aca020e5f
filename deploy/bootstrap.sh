#!/bin/sh
# bootstrap.sh LOCK makes .venv if it does not exist, and installs exactly the packages of the file LOCK into it.
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

if ! .venv/bin/python -c '' 2>/dev/null; then
    python=$(find_python)
    need_venv_module "$python"
    "$python" -m venv --without-pip --clear .venv
fi

exec .venv/bin/python deploy/install.py "$1"
