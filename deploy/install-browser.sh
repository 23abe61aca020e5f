#!/bin/sh
# Install a Chromium for the browser tests unless the machine has one, or CAUSELINE_BROWSER names one.
set -eu
cd "$(dirname "$0")/.."

for browser in ${CAUSELINE_BROWSER:-google-chrome google-chrome-stable chromium chromium-browser}; do
    command -v "$browser" >/dev/null && exit
done
if [ -n "${CAUSELINE_BROWSER:-}" ]; then
    echo "causeline: CAUSELINE_BROWSER names $CAUSELINE_BROWSER, which is no program." >&2
    exit 1
fi

if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
    apt-get update -q
    DEBIAN_FRONTEND=noninteractive apt-get install -qy --no-install-recommends chromium
else
    .venv/bin/python -m playwright install chromium
fi
