#!/bin/sh
# Install Debian's kubectl for the tests unless the machine has one: system-wide as root, into .venv otherwise.
set -eu
cd "$(dirname "$0")/.."

for kubectl in kubectl .venv/kubectl/usr/bin/kubectl; do
    command -v "$kubectl" >/dev/null && exit
done

if ! command -v apt-get >/dev/null; then
    echo "causeline: the tests need kubectl; install it and try again." >&2
    exit 1
fi
if [ "$(id -u)" = 0 ]; then
    apt-get update -q
    DEBIAN_FRONTEND=noninteractive apt-get install -qy --no-install-recommends kubernetes-client
else
    mkdir -p .venv/kubectl
    cd .venv/kubectl
    apt-get download -q kubernetes-client
    dpkg -x kubernetes-client_*.deb .
    rm kubernetes-client_*.deb
fi
