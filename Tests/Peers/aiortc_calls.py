#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A member of several Socket.IO rooms in one process: that of aiortc_peer.py in each, with a comma between the rooms.

Many calls at once cost little that way; --fps, --size and --audio-start make them smaller still. Figures are printed of
each call, and its exit code is the highest of theirs.

Example: .venv/peers/bin/python Tests/Peers/aiortc_calls.py --url http://127.0.0.1:3000 --room one,two --send synthetic
"""

import argparse
import asyncio
import signal

import aiortc_peer


class Call(aiortc_peer.Peer):
    async def read_commands(self):
        """Standard input is that of all."""


class Calls:
    def __init__(self, options):
        self.calls = [Call(argparse.Namespace(**{**vars(options), "room": room})) for room in options.room.split(",")]

    async def run(self):
        running = [asyncio.create_task(call.run()) for call in self.calls]
        # Each of them has taken the signals by then.
        await asyncio.sleep(0)
        for name in (signal.SIGTERM, signal.SIGINT):
            asyncio.get_running_loop().add_signal_handler(name, self.end)
        return max(await asyncio.gather(*running))

    def end(self):
        for call in self.calls:
            call.ended.set()


if __name__ == "__main__":
    aiortc_peer.main(__doc__, Calls)
