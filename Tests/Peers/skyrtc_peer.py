#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A member of a SkyRTC room on aiortc.

--dialect classic: offers to every member in `_peers`, waits for the offer after `_new_peer`, leaves by closing its
WebSocket. Sends text, or with --binary what the iOS app sends: pretty-printed JSON in binary frames.

--dialect call: the URL is of the server, without path. --call USER makes a room of two and calls that user; --join
joins --room as it is. Offers on `__new_peer`, answers offers, leaves with `__leave`.

Does what stock apps do and nothing more: does not come back when its WebSocket closes, but keeps its media then. Prints
the JSON objects of aiortc_peer.py, each with `member` where it is about one other member, and full, rejected.

Exit codes: 0 was connected, 1 never connected, 3 could not join.

Example: .venv/peers/bin/python Tests/Peers/skyrtc_peer.py --url ws://127.0.0.1:3000/wss --room 100 --send synthetic
"""

import argparse
import asyncio
import contextlib
import json
import signal
import uuid

import aiohttp
from aiortc_peer import Connection, parse, report, run_to_the_end


class Member:
    """The connections to the other members, and the WebSocket."""

    def __init__(self, options):
        self.options = options
        self.connections = {}
        # Candidates that came before the offer they belong to.
        self.early = {}
        self.closed = []
        self.ended = asyncio.Event()
        self.exit_code = 0
        self.socket = None
        self.own = None

    @property
    def is_connected(self):
        return any(connection.figures["connected"] for connection in self.connections.values())

    async def send(self, name, **data):
        text = {"eventName": name, "data": data}
        with contextlib.suppress(ConnectionError):
            if self.options.binary:
                await self.socket.send_bytes(json.dumps(text, indent=2).encode())
            else:
                await self.socket.send_str(json.dumps(text))

    async def replace(self, member):
        await self.drop(member)
        connection = self.connections[member] = Connection(self.options)
        connection.candidates += self.early.pop(member, [])
        return connection

    async def drop(self, member):
        connection = self.connections.pop(member, None)
        if connection:
            self.closed.append(await connection.close())
            report(event="dropped", member=member)

    async def offer(self, member):
        await self.describe(member, await (await self.replace(member)).offer())

    async def take(self, kind, member, message):
        connection = self.connections.get(member)
        if kind == "offer":
            if not (connection and connection.is_session_of(message)):
                connection = await self.replace(member)
            await self.describe(member, await connection.answer(message))
        elif kind == "answer" and connection:
            await connection.take_answer(message)
        elif kind == "ice_candidate":
            if connection:
                await connection.take_candidate(message)
            else:
                self.early.setdefault(member, []).append(message)

    async def run(self):
        for name in (signal.SIGTERM, signal.SIGINT):
            asyncio.get_running_loop().add_signal_handler(name, self.ended.set)
        async with aiohttp.ClientSession() as session:
            try:
                self.socket = await session.ws_connect(self.websocket_url, max_msg_size=4_000_000)
            except aiohttp.ClientError as error:
                report(event="unreachable", reason=str(error))
                return 3
            tasks = [asyncio.create_task(self.read()), asyncio.create_task(self.watch_duration())]
            with contextlib.suppress(asyncio.TimeoutError):
                await asyncio.wait_for(self.ended.wait(), self.options.limit)
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            if not self.socket.closed:
                await self.leave()
            for member in list(self.connections):
                await self.drop(member)
            await self.socket.close()
        connected = [figures for figures in self.closed if figures["connected"]]
        names = ("framesSent", "audioPacketsSent", "framesDecoded", "audioFramesReceived", "countersRead")
        report(event="end", connections=len(connected),
               **{name: sum(figures[name] for figures in self.closed) for name in names})
        return self.exit_code or (0 if connected else 1)

    async def read(self):
        try:
            await self.enter()
            async for message in self.socket:
                if message.type is not aiohttp.WSMsgType.TEXT:
                    # A phone decodes every frame as text, and dies of others.
                    raise ValueError(f"a frame of type {message.type}")
                value = json.loads(message.data)
                handler = getattr(self, "on" + value["eventName"].replace("__", "_", 1), None)
                if handler:
                    await handler(value["data"])
        except Exception as error:
            report(event="violation", what=repr(error))
            self.exit_code = 3
            self.ended.set()
            raise
        report(event="disconnected")

    async def watch_duration(self):
        while self.options.duration and not self.is_connected:
            await asyncio.sleep(0.05)
        if self.options.duration:
            await asyncio.sleep(self.options.duration)
            self.ended.set()


class Classic(Member):
    @property
    def websocket_url(self):
        return self.options.url

    async def enter(self):
        await self.send("__join", room=self.options.room)

    async def leave(self):
        pass

    async def describe(self, member, description):
        await self.send(f"__{description['type']}", socketId=member, sdp=description)

    async def on_peers(self, data):
        self.own = data["you"]
        report(event="joined", room=self.options.room, sid=self.own, members=data["connections"])
        for member in data["connections"]:
            await self.offer(member)

    async def on_new_peer(self, data):
        report(event="new_peer", member=data["socketId"])
        await self.drop(data["socketId"])

    async def on_remove_peer(self, data):
        report(event="remove_peer", member=data["socketId"])
        await self.drop(data["socketId"])

    async def on_offer(self, data):
        await self.take(data["sdp"]["type"], data["socketId"], data["sdp"])

    on_answer = on_offer

    async def on_ice_candidate(self, data):
        await self.take("ice_candidate", data["socketId"], data)


class Call(Member):
    def __init__(self, options):
        super().__init__(options)
        self.own = options.user or f"phone-{uuid.uuid4().hex[:8]}"
        self.room = options.room if options.join else str(uuid.uuid4())
        self.is_member = False

    @property
    def websocket_url(self):
        return f"{self.options.url.rstrip('/')}/ws/{self.own}/0"

    async def enter(self):
        if self.options.join:
            await self.send("__join", room=self.room, userID=self.own)
        else:
            await self.send("__create", room=self.room, roomSize=2, userID=self.own)

    async def leave(self):
        if self.is_member:
            await self.send("__leave", room=self.room, fromID=self.own, userID=self.own)

    async def describe(self, member, description):
        await self.send(f"__{description['type']}", userID=member, fromID=self.own, sdp=description["sdp"])

    async def on_peers(self, data):
        self.is_member = True
        report(event="joined", room=self.room, sid=data["you"], members=data["connections"])
        if self.options.call:
            await self.send("__invite", room=self.room, inviteID=self.own, userList=self.options.call, audioOnly=False)

    async def on_ring(self, data):
        report(event="ring", member=data["fromID"])

    async def on_reject(self, data):
        report(event="rejected", member=data["fromID"], reason=data["refuseType"])
        self.is_member = False
        self.ended.set()

    async def on_new_peer(self, data):
        report(event="new_peer", member=data["userID"])
        await self.offer(data["userID"])

    async def on_leave(self, data):
        report(event="leave", member=data["fromID"])
        await self.drop(data["fromID"])
        if self.options.call:
            # A call of two is over for both.
            self.is_member = False
            self.ended.set()

    async def on_offer(self, data):
        await self.take("offer", data["fromID"], data)

    async def on_answer(self, data):
        await self.take("answer", data["fromID"], data)

    async def on_ice_candidate(self, data):
        assert isinstance(data["label"], int) and isinstance(data["id"], str)
        await self.take("ice_candidate", data["fromID"], data)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--url", required=True, help="ws://HOST:PORT, with the path of the classic dialect")
    parser.add_argument("--room", default="100")
    parser.add_argument("--dialect", choices=("classic", "call"), default="classic")
    parser.add_argument("--binary", action="store_true", help="send binary frames, as the iOS app does")
    parser.add_argument("--user", help="our user id in the call dialect")
    parser.add_argument("--call", metavar="USER", help="make a room of two and call this user")
    parser.add_argument("--join", action="store_true", help="join --room, which exists")
    options = parse(parser)
    kind = Classic if options.dialect == "classic" else Call

    async def run():
        return await kind(options).run()

    run_to_the_end(run())


if __name__ == "__main__":
    main()
