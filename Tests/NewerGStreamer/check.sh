#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Checks the debug build against the GStreamer of a newer Debian: end-to-end tests with Tapedeck in that system and
# everything else (Chromium, aiortc, ffmpeg) in this one, then the tests of GStreamer and Media there.
#
#   sudo Tests/NewerGStreamer/check.sh [PYTEST_ARGUMENT...]
#
# Makes the system once, 800 MB: RELEASE (trixie) in $NEWER_DEBIAN (/var/tmp/tapedeck-newer-debian), from MIRROR.
# Needs root, debootstrap, `swift build --build-tests` and Tests/Peers/make_venvs.sh. Not part of CI.
set -euo pipefail

here="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
root="$(cd "$here/../.." && pwd)"
export NEWER_DEBIAN="${NEWER_DEBIAN:-/var/tmp/tapedeck-newer-debian}"
stamp="$NEWER_DEBIAN/.complete"

if [ ! -f "$stamp" ]; then
    echo "check.sh: making ${RELEASE:-trixie} in $NEWER_DEBIAN" >&2
    debootstrap --variant=minbase "${RELEASE:-trixie}" "$NEWER_DEBIAN" "${MIRROR:-http://deb.debian.org/debian}"
    # The packages of `.ci/install-packages demo`, without what only a build needs.
    chroot "$NEWER_DEBIAN" env DEBIAN_FRONTEND=noninteractive apt-get -q -y install --no-install-recommends \
        gstreamer1.0-plugins-base gstreamer1.0-plugins-good gstreamer1.0-plugins-bad gstreamer1.0-plugins-ugly \
        gstreamer1.0-x gstreamer1.0-nice gstreamer1.0-tools libgstrtspserver-1.0-0 libstrophe0 ca-certificates ffmpeg
    touch "$stamp"
fi
"$here/run.sh" gst-inspect-1.0 --version >&2

cd "$root"
libraries="$("$here/run.sh" ldd .build/debug/tapedeck)"
if missing="$(grep 'not found' <<<"$libraries")"; then
    echo "check.sh: remove $NEWER_DEBIAN, so that it is made anew; it lacks" "$missing" >&2
    exit 1
fi
tests=("$@")
[ ${#tests[@]} -gt 0 ] || tests=(test_demo.py test_browser_recording.py test_aiortc_recording.py
    test_camera.py test_fingerprint.py test_crash.py test_served_page.py)
(cd Tests/EndToEnd && TAPEDECK="$here/tapedeck" "$root/.venv/peers/bin/python" -m pytest -q "${tests[@]}")
"$here/run.sh" .build/debug/tapedeckPackageTests.xctest --testing-library swift-testing --no-parallel \
    --filter '^(GStreamerTests|MediaTests)'
