#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Makes the Python environments of the foreign peers at the repository root:
#
#   .venv/socketio5  room server, Engine.IO 4
#   .venv/socketio4  room server, Engine.IO 3
#   .venv/peers      aiortc, Chromium's driver, pytest, analysis
#   .venv/etcd       a later etcd than Debian's; only if it is named
#   .venv/kubernetes kubectl and the schemas of Kubernetes; only if it is named
#
# Does nothing for an environment whose stamp is the hash of its pinned requirements and of the interpreter.
# Names given as arguments limit the work to those environments.
set -euo pipefail

here="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
root="$(cd "$here/../.." && pwd)"
python="${PYTHON:-python3}"
names=("$@")
[ ${#names[@]} -gt 0 ] || names=(socketio5 socketio4 peers)

# Two runs at once would write into the same folders.
mkdir -p "$root/.venv"
exec 9>"$root/.venv/.lock"
flock 9

for name in "${names[@]}"; do
    requirements="$here/requirements/$name.txt"
    venv="$root/.venv/$name"
    stamp="$venv/.requirements-hash"
    hash="$( { "$python" -VV; cat "$requirements"; } | sha256sum | cut -d' ' -f1)"
    if [ -f "$stamp" ] && [ "$(cat "$stamp")" = "$hash" ] && "$venv/bin/python" -c '' 2>/dev/null; then
        continue
    fi
    echo "make_venvs: installing $(grep -c '==' "$requirements") Python packages into .venv/$name" >&2
    rm -rf "$venv"
    "$python" -m venv "$venv"
    "$venv/bin/pip" install --quiet --disable-pip-version-check --no-input --no-deps --requirement "$requirements"
    echo "$hash" >"$stamp"
done
