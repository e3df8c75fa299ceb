#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Runs a command with the libraries of another Debian, in the folder and with the environment of the caller:
#
#   Tests/NewerGStreamer/run.sh COMMAND [ARGUMENT...]
#
# The repository, the folder for temporary files and the Swift toolchain are seen at their own paths. The process keeps
# its id, so that signals reach the command. Needs root, and a system made by check.sh in $NEWER_DEBIAN.
set -euo pipefail

root="$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)"
system="${NEWER_DEBIAN:-/var/tmp/tapedeck-newer-debian}"
swift="$(dirname "$(dirname "$(dirname "$(readlink -f "$(command -v swift)")")")")"
[ -x "$system/usr/bin/env" ] || { echo "run.sh: no Debian in $system; run check.sh" >&2; exit 1; }

export NEWER_DEBIAN_BINDS="$root:$swift:${TMPDIR:-/tmp}:/dev"
exec unshare --mount bash -c '
    system="$1" folder="$2"; shift 2
    mount -t proc proc "$system/proc"
    IFS=: read -ra paths <<<"$NEWER_DEBIAN_BINDS"
    for path in "${paths[@]}"; do
        mkdir -p "$system$path"
        mount --rbind "$path" "$system$path"
    done
    exec chroot "$system" env --chdir="$folder" "$@"
' _ "$system" "$PWD" "$@"
