#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Debian's Janus with one VideoRoom on loopback, over TLS: prints the port of the chosen transport, then is Janus itself.

Example: Tests/Peers/janus_server.py --transport ws --tls CERT KEY --folder /tmp/janus
"""

import argparse
import json
import os
import socket
import time

import janus_configuration

ROOM = 1234
LIMIT = 90


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def tell(port):
    """Waits until the server listens, and prints where."""
    deadline = time.monotonic() + LIMIT
    while time.monotonic() < deadline:
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
        except OSError:
            time.sleep(0.05)
        else:
            print(json.dumps({"port": port}), flush=True)
            return


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--port", type=int, default=0, help="0: any free port")
    parser.add_argument("--transport", choices=("ws", "http"), default="ws")
    parser.add_argument("--tls", nargs=2, metavar=("CERT", "KEY"), required=True, help="PEM files")
    parser.add_argument("--folder", required=True, help="for the configuration")
    options = parser.parse_args()
    port = options.port or free_port()
    ports = (port, free_port()) if options.transport == "ws" else (free_port(), port)
    command = janus_configuration.command(options.folder, *ports, {ROOM: {"publishers": 6}}, tls=options.tls)
    if os.fork() == 0:
        tell(port)
        os._exit(0)
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    os.dup2(nowhere, 2)
    os.execvp(command[0], [str(part) for part in command])


if __name__ == "__main__":
    main()
