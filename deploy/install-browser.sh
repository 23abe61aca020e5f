#!/bin/sh
# Install a Chromium for the browser tests unless the machine has one, or CAUSELINE_BROWSER names one.
set -eu
cd "$(dirname "$0")/.."

for browser in ${CAUSELINE_BROWSER:-chromium-headless-shell google-chrome google-chrome-stable chromium chromium-browser}; do
    command -v "$browser" >/dev/null && exit
done
if [ -n "${CAUSELINE_BROWSER:-}" ]; then
    echo "causeline: CAUSELINE_BROWSER names $CAUSELINE_BROWSER, which is no program." >&2
    exit 1
fi

if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
    apt-get update -q
    # Debian has a package of the part that runs without a screen. It needs a third less of the processor.
    package=chromium-headless-shell
    apt-cache show "$package" >/dev/null 2>&1 || package=chromium
    DEBIAN_FRONTEND=noninteractive apt-get install -qy --no-install-recommends "$package"
else
    .venv/bin/python -m playwright install chromium
fi
