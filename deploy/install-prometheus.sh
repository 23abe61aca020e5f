#!/bin/sh
# Install Debian's Alertmanager and Prometheus for the tests unless the machine has them. They are unpacked into .venv,
# because Debian's packages would also start them as services of the machine. Alertmanager reads its templates from one
# path only: root puts them there; for others, the tests show it that path (tests/servers/alertmanager.py).
set -eu
cd "$(dirname "$0")/.."

found() {
    for program in "$1" ".venv/prometheus/usr/bin/$1"; do
        command -v "$program" >/dev/null && return
    done
    return 1
}

if found prometheus-alertmanager && found prometheus; then
    exit
fi
if ! command -v apt-get >/dev/null; then
    echo "causeline: the tests need prometheus-alertmanager and prometheus; install them and try again." >&2
    exit 1
fi
if [ "$(id -u)" = 0 ]; then
    apt-get update -q
fi
mkdir -p .venv/prometheus
cd .venv/prometheus
apt-get download -q prometheus-alertmanager prometheus
for package in ./*.deb; do
    dpkg -x "$package" .
    rm "$package"
done
if [ "$(id -u)" = 0 ] && [ ! -e /usr/share/prometheus/alertmanager ]; then
    mkdir -p /usr/share/prometheus
    cp -R usr/share/prometheus/alertmanager /usr/share/prometheus/
fi
