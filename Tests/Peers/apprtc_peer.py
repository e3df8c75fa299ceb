#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A member of an AppRTC room on aiortc, with the habits of the web client.

First in the room it posts its offer and candidates to the room server; second it answers through the collider. On `bye`
it offers again, to the next one. It never opens a lost WebSocket again: from then on it posts to the collider. Prints
the JSON objects of aiortc_peer.py, also on its command `stats`; `joined` says isInitiator. Leaves in the order of the
web client.

Runs in .venv/peers and borrows aiohttp of .venv/socketio5. Exit codes: 0 was connected, 1 never connected, 3 could not
join.

Example: .venv/peers/bin/python Tests/Peers/apprtc_peer.py --url http://127.0.0.1:8080 --room lab7 --send synthetic
"""

import argparse
import asyncio
import contextlib
import json
import os
import pathlib
import re
import signal
import stat
import sys

import aiortc_peer
from aiortc_peer import Connection, report, run_to_the_end

sys.path.append(str(next((pathlib.Path(__file__).resolve().parents[2] / ".venv" / "socketio5" / "lib").glob(
    "python3*/site-packages"))))
import aiohttp  # noqa: E402


class Member:
    def __init__(self, options):
        self.options = options
        self.ended = asyncio.Event()
        self.lock = asyncio.Lock()
        self.connection = None
        self.closed = []
        self.http = self.socket = self.parameters = None
        self.is_initiator = False

    async def post(self, url, text=""):
        async with self.http.post(url, data=text) as answer:
            answer.raise_for_status()
            return await answer.text()

    async def send(self, message):
        """The initiator posts to the room server, the other one sends through the collider."""
        text, parameters = json.dumps(message), self.parameters
        names = f"{parameters['room_id']}/{parameters['client_id']}"
        if self.is_initiator:
            answer = json.loads(await self.post(f"{self.options.url}/message/{names}", text))
            assert answer["result"] == "SUCCESS", answer
        else:
            await self.send_by_collider(text)

    async def send_by_collider(self, text):
        parameters = self.parameters
        if self.socket.closed:
            await self.post(f"{parameters['wss_post_url']}/{parameters['room_id']}/{parameters['client_id']}", text)
        else:
            await self.socket.send_str(json.dumps({"cmd": "send", "msg": text}))

    async def describe(self, message):
        """Sends a description without its candidates, then those one by one, as browsers trickle them."""
        lines = message["sdp"].splitlines()
        kept = [line for line in lines if not line.startswith(("a=candidate:", "a=end-of-candidates"))]
        await self.send({"type": message["type"], "sdp": "\r\n".join(kept) + "\r\n"})
        label, mids = -1, re.findall(r"(?m)^a=mid:(\S+)", message["sdp"])
        for line in lines:
            if line.startswith("m="):
                label += 1
            elif line.startswith("a=candidate:"):
                await self.send({"type": "candidate", "label": label, "id": mids[label], "candidate": line[2:]})

    async def call(self):
        self.connection = Connection(self.options)
        await self.describe(await self.connection.offer())

    async def hang_up(self):
        if self.connection:
            connection, self.connection = self.connection, None
            self.closed.append(await connection.close())

    async def take(self, message):
        kind = message["type"]
        if kind == "offer":
            if self.is_initiator:
                report(event="ignored", type=kind)
                return
            if not (self.connection and self.connection.is_session_of(message)):
                candidates = self.connection.candidates if self.connection else []
                await self.hang_up()
                self.connection = Connection(self.options)
                self.connection.candidates = candidates
            await self.describe(await self.connection.answer(message))
        elif kind == "answer" and self.is_initiator and self.connection:
            await self.connection.take_answer(message)
        elif kind == "candidate":
            if not self.connection:
                self.connection = Connection(self.options)
            await self.connection.take_candidate(message)
        elif kind == "bye":
            report(event="bye")
            await self.hang_up()
            self.is_initiator = True
            await self.call()
        else:
            report(event="ignored", type=kind)

    async def listen(self):
        async for frame in self.socket:
            value = json.loads(frame.data)
            assert set(value) == {"msg", "error"}, value
            if value["error"]:
                report(event="colliderError", text=value["error"])
                continue
            async with self.lock:
                if not self.ended.is_set():
                    await self.take(json.loads(value["msg"]))
        report(event="colliderLost")

    async def watch(self):
        while not (self.connection and self.connection.figures["connected"]):
            await asyncio.sleep(0.05)
        await asyncio.sleep(self.options.duration)
        self.ended.set()

    async def read_commands(self):
        if not stat.S_ISFIFO(os.fstat(sys.stdin.fileno()).st_mode):
            return
        reader = asyncio.StreamReader()
        await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
        while line := await reader.readline():
            if line.strip() == b"stats":
                report(event="stats", connections=[self.connection.figures] if self.connection else [])

    async def leave(self):
        parameters = self.parameters
        names = f"{parameters['room_id']}/{parameters['client_id']}"
        await self.post(f"{self.options.url}/leave/{names}")
        await self.send_by_collider(json.dumps({"type": "bye"}))
        await self.socket.close()
        async with self.http.delete(f"{parameters['wss_post_url']}/{names}") as answer:
            answer.raise_for_status()

    async def join(self):
        answer = json.loads(await self.post(f"{self.options.url}/join/{self.options.room}"))
        if answer["result"] != "SUCCESS":
            report(event=answer["result"].lower())
            return None
        self.parameters = answer["params"]
        self.is_initiator = self.parameters["is_initiator"] in ("true", True)
        self.socket = await self.http.ws_connect(self.parameters["wss_url"], headers={"Origin": self.options.url})
        await self.socket.send_str(json.dumps({"cmd": "register", "roomid": self.parameters["room_id"],
                                               "clientid": self.parameters["client_id"]}))
        report(event="joined", isInitiator=self.is_initiator)
        return [message if isinstance(message, dict) else json.loads(message)
                for message in self.parameters["messages"]]

    async def run(self):
        loop = asyncio.get_running_loop()
        for name in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(name, self.ended.set)
        async with aiohttp.ClientSession() as self.http:
            messages = await self.join()
            if messages is None:
                return 3
            async with self.lock:
                if self.is_initiator:
                    await self.call()
                for message in sorted(messages, key=lambda message: message["type"] == "candidate"):
                    await self.take(message)
            tasks = [asyncio.create_task(self.listen()), asyncio.create_task(self.read_commands())]
            if self.options.duration:
                tasks.append(asyncio.create_task(self.watch()))
            with contextlib.suppress(asyncio.TimeoutError):
                await asyncio.wait_for(self.ended.wait(), self.options.limit)
            self.ended.set()
            async with self.lock:
                await self.hang_up()
            await self.leave()
            for task in tasks:
                task.cancel()
            for result in await asyncio.gather(*tasks, return_exceptions=True):
                if isinstance(result, Exception):
                    raise result
        connected = [figures for figures in self.closed if figures["connected"]]
        report(event="end", connections=len(connected))
        return 0 if connected else 1


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--url", required=True, help="of the room server, http://HOST:PORT")
    parser.add_argument("--room", required=True)
    options = aiortc_peer.parse(parser)

    async def run():
        return await Member(options).run()

    run_to_the_end(run())


if __name__ == "__main__":
    main()
