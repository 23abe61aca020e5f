#!/bin/sh
# Install Debian's HAProxy and PgBouncer for the tests unless the machine has them. Their packages are unpacked into
# .venv, because they would also start them as services of the machine; the libraries that they need are installed beside
# them for the same reason.
set -eu
cd "$(dirname "$0")/.."

found() {
    for program in "$1" "/usr/sbin/$1" ".venv/proxies/usr/sbin/$1"; do
        command -v "$program" >/dev/null && return
    done
    return 1
}

if found haproxy && found pgbouncer; then
    exit
fi
if ! command -v apt-get >/dev/null; then
    echo "causeline: the tests need haproxy and pgbouncer; install them and try again." >&2
    exit 1
fi
if [ "$(id -u)" = 0 ]; then
    apt-get update -q
fi
mkdir -p .venv/proxies
cd .venv/proxies
needed=$(apt-get install --simulate --no-install-recommends haproxy pgbouncer | sed -n 's/^Inst \([^ ]*\).*/\1/p')
# shellcheck disable=SC2086 # the names of packages are words
apt-get download -q haproxy pgbouncer $needed
for package in ./*.deb; do
    dpkg -x "$package" .
    rm "$package"
done
