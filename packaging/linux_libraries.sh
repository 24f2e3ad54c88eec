#!/bin/sh
# Linux only: the system libraries that PySide6 and a fast CPU engine need.
# As root they are installed; otherwise what is missing is named in one line and set-up goes on.
set -eu

[ "$(uname -s)" = Linux ] || exit 0
command -v dpkg-query >/dev/null 2>&1 || {
    echo "set-up: this is not a Debian system; if the window does not open, install Qt's xcb libraries and OpenBLAS."
    exit 0
}

needed="libglib2.0-0 libgl1 libegl1 libxkbcommon0 libfontconfig1 libdbus-1-3 libxkbcommon-x11-0 libxcb-cursor0
libxcb-icccm4 libxcb-keysyms1 libxcb-image0 libxcb-render-util0 libxcb-randr0 libxcb-shape0 libxcb-sync1
libxcb-xfixes0 libxcb-xkb1 libx11-xcb1 libopenblas0-pthread"

installed() { # a renamed package (libglib2.0-0t64) provides the old name
    dpkg-query -W -f='${db:Status-Status} ${Package} ${Provides}\n' | awk -v p="$1" \
        '$1 == "installed" { for (i = 2; i <= NF; i++) { gsub(/,/, "", $i); if ($i == p) { found = 1 } } } END { exit !found }'
}

missing=""
for package in $needed; do
    installed "$package" || missing="$missing $package"
done
[ -n "$missing" ] || exit 0

if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1; then
    echo "set-up: installing$missing"
    # shellcheck disable=SC2086
    { apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $missing; } \
        >/dev/null 2>&1 || echo "set-up: could not install$missing; try: apt-get install$missing"
else
    echo "set-up: missing system libraries; run: sudo apt-get install$missing"
fi
