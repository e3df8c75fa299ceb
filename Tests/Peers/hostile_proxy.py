#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A proxy before a Socket.IO server (Engine.IO 4 over WebSocket) that slips bad frames between the server's own.

The harmless ones come one after the other as soon as the client has joined, and again every --every seconds; those
that may cost the client its connection (--case) come once, when a line comes on standard input.
Prints {"port": N}, then {"event": "injected", "case": …}. Runs in .venv/socketio5.

Example: .venv/socketio5/bin/python Tests/Peers/hostile_proxy.py --target http://127.0.0.1:3000 --case oversize
"""

import argparse
import asyncio
import contextlib
import json
import signal
import sys

import aiohttp
from aiohttp import web

# Frames that a tolerant client ignores and counts.
HARMLESS = [
    "42", "42[", '42["message"', '42["message","1",{"type":"offer","sdp":"v=0', "42[]", "42{}", "42null", "42[null]",
    "42[1,2,3]", '42["unknown",1]', '42["message"]', '42["message",null,null]', "4", "49", '42999999999999999999["x"]',
    '42/other,["message"]', '43["ack"]', '4312[]', '45-["binary"]',
    "42" + "[" * 5000, '42["message","1",{"type":"candidate","label":1e999}]', "6", "6noop",
    '42["message","1","\\ud800"]', '42["joined"]',
]
# Frames after which a client may close and connect again.
CASES = {
    "unfinished-binary": '451-["message",{"_placeholder":true,"num":0}]',
    "binary": b"\x00\xff\xfe garbage",
    "unknown-packet": "9what",
    "empty": "",
    "invalid-open": "0{not json",
    "oversize": '42["message","1",{"type":"offer","sdp":"' + "x" * 20_000_000 + '"}]',
    "close": "1",
    "namespace-refused": '44{"message":"no"}',
    "namespace-disconnect": "41",
}


class Proxy:
    def __init__(self, options):
        self.options = options
        self.pending = list(options.case)
        self.commanded = asyncio.Event()

    async def read_command(self):
        reader = asyncio.StreamReader()
        await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
        if await reader.readline():
            self.commanded.set()

    async def forward(self, source, destination, seen):
        async for message in source:
            if message.type is aiohttp.WSMsgType.TEXT:
                await destination.send_str(message.data)
                if message.data.startswith('42["joined"'):
                    seen.set()
            elif message.type is aiohttp.WSMsgType.BINARY:
                await destination.send_bytes(message.data)
        await destination.close()

    async def inject(self, client, joined):
        await joined.wait()
        with contextlib.suppress(ConnectionError):
            await self.inject_harmless(client)
            if self.pending:
                await self.commanded.wait()
                case = self.pending.pop(0)
                frame = CASES[case]
                # Said first: the client may hang up in the middle of the frame.
                print(json.dumps({"event": "injected", "case": case}), flush=True)
                await (client.send_bytes(frame) if isinstance(frame, bytes) else client.send_str(frame))
            while self.options.every > 0:
                await asyncio.sleep(self.options.every)
                await self.inject_harmless(client)

    async def inject_harmless(self, client):
        for frame in HARMLESS:
            await client.send_str(frame)
        print(json.dumps({"event": "injected", "case": "harmless"}), flush=True)

    async def handle(self, request):
        if request.query.get("transport") != "websocket":
            return web.json_response({"code": 0, "message": "Transport unknown"}, status=400)
        client = web.WebSocketResponse(max_msg_size=0)
        await client.prepare(request)
        async with aiohttp.ClientSession() as session:
            async with session.ws_connect(self.options.target + request.path_qs, max_msg_size=0) as server:
                joined = asyncio.Event()
                tasks = [asyncio.create_task(work) for work in (
                    self.forward(server, client, joined), self.forward(client, server, asyncio.Event()))]
                injector = asyncio.create_task(self.inject(client, joined))
                await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
                for task in [injector, *tasks]:
                    task.cancel()
                await asyncio.gather(injector, *tasks, return_exceptions=True)
        await client.close()
        return client


async def serve(options):
    application = web.Application()
    proxy = Proxy(options)
    reading = asyncio.create_task(proxy.read_command()) if options.case else None
    application.router.add_get("/socket.io/", proxy.handle)
    runner = web.AppRunner(application, access_log=None, shutdown_timeout=1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    ended = asyncio.Event()
    for name in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(name, ended.set)
    print(json.dumps({"port": runner.addresses[0][1]}), flush=True)
    await ended.wait()
    if reading:
        reading.cancel()
    await asyncio.wait_for(runner.cleanup(), timeout=5)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--target", required=True, help="http://HOST:PORT")
    parser.add_argument("--case", action="append", default=[], choices=CASES,
                        help="one for each connection in turn; may be repeated")
    parser.add_argument("--every", type=float, default=1, help="seconds between harmless rounds; 0: one round")
    asyncio.run(serve(parser.parse_args()))


if __name__ == "__main__":
    main()
