# SPDX-License-Identifier: Apache-2.0
"""Calls recorded by aiortc's MediaRecorder: 0.mkv, 1.mkv and so on in the folder that is named.

Speaks on its standard input and output as webrtcbin_receiver.c does. MediaRecorder decodes and encodes what it writes.
"""

import asyncio
import pathlib
import sys

from aiortc import RTCConfiguration, RTCPeerConnection, RTCSessionDescription
from aiortc.contrib.media import MediaRecorder


def read_offer():
    """The next offer; nothing if there is no other."""
    lines = []
    while (line := sys.stdin.readline()) not in (".\n", ""):
        lines.append(line.rstrip("\n") + "\r\n")
    return "".join(lines)


async def take(offer, path):
    """Answers an offer, and records what comes."""
    connection, recorder = RTCPeerConnection(RTCConfiguration(iceServers=[])), MediaRecorder(path)
    connection.on("track", recorder.addTrack)
    await connection.setRemoteDescription(RTCSessionDescription(offer, "offer"))
    await recorder.start()
    await connection.setLocalDescription(await connection.createAnswer())
    print(connection.localDescription.sdp.replace("\r\n", "\n"), end=".\n", flush=True)
    return connection, recorder


async def run(folder):
    calls = []
    while offer := await asyncio.to_thread(read_offer):
        calls.append(await take(offer, str(folder / f"{len(calls)}.mkv")))
    for connection, recorder in calls:
        await recorder.stop()
        await connection.close()


if __name__ == "__main__":
    asyncio.run(run(pathlib.Path(sys.argv[1])))
