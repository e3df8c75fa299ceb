# SPDX-License-Identifier: Apache-2.0
"""Socket.IO clients that give a server on a busy machine time to answer."""

import inspect

SECONDS = 90


def make(socketio):
    """A client of that module, python-socketio 4 or 5, which does not come back automatically."""
    return socketio.AsyncClient(reconnection=False, request_timeout=SECONDS)


async def connect(client, url, **options):
    """Connects; for its namespace version 5 waits a second by default, and version 4 does not wait."""
    if "wait_timeout" in inspect.signature(client.connect).parameters:
        options["wait_timeout"] = SECONDS
    await client.connect(url, **options)
