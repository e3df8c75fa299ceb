#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The Socket.IO room server that phones and browsers meet in, on python-socketio.

Stock rules: `join` answers `joined` (and `otherjoin` to the others) while the room has space, else `full`; `leave`
sends `bye` to all remaining members and `leaved` to the sender, members or not; `message` is relayed with its two
arguments to all other members of the room. A socket that vanishes is not announced.

Engine.IO 4 in .venv/socketio5, Engine.IO 3 in .venv/socketio4. Prints {"port": N} when it listens; events of the rooms
go to standard error, one JSON object a line. Ends on SIGTERM and SIGINT.

Kicks members on command: a line {"remove": SID, "how": "leaved"} on standard input takes a member out and says `leaved`
to it, "disconnect" ends its namespace.

Example: .venv/socketio5/bin/python Tests/Peers/socketio_room_server.py --port 0 --variant three-arguments
"""

import argparse
import asyncio
import inspect
import json
import os
import signal
import ssl
import stat
import sys
import time

import socketio
from aiohttp import web

VARIANTS = """\
variants (section A7 of the protocol notes), may be repeated:
  stock                 the rules above
  three-arguments       relays message(room, sender id, data)
  echo                  relays a message to its sender too
  broadcast-joined      joined and otherjoin go to the whole room, newcomer included
  otherjoin-room-only   otherjoin without the newcomer's id
  renamed               other_joined, left and bay instead of otherjoin, leaved and bye
  greeting              joined with a text right after connecting, before any join
  full-until:SECONDS    every join is answered full until so many seconds after the start
  silent                never answers anything
  no-bye                leave is not announced to the others
  bye-on-disconnect     a vanished member is announced with bye
  keep-member           leave does not free the place
  hostile-ids           every member's id is a piece of HTML (Engine.IO 4 only)
"""


HOSTILE_PREFIX = '<img src=x onerror="window.hacked=1">'


class RoomManager(socketio.AsyncManager):
    """Delivers in order of emission.

    python-socketio 4 hands bare coroutines to asyncio.wait, which Python 3.11 refuses.
    """

    id_prefix = ""

    async def pre_connect(self, eio_sid, namespace):
        engine = self.server.eio
        generate = engine.generate_id
        engine.generate_id = lambda: self.id_prefix + generate()
        try:
            return await super().pre_connect(eio_sid, namespace)
        finally:
            engine.generate_id = generate

    async def emit(self, event, data, namespace, room=None, skip_sid=None, callback=None, **arguments):
        if not hasattr(self.server, "_emit_internal"):
            return await super().emit(event, data, namespace, room=room, skip_sid=skip_sid, callback=callback,
                                      **arguments)
        if room not in self.rooms.get(namespace, {}):
            return
        skipped = skip_sid if isinstance(skip_sid, list) else [skip_sid]
        for sid in list(self.get_participants(namespace, room)):
            if sid not in skipped:
                await self.server._emit_internal(sid, event, data, namespace, None)


def log(**facts):
    print(json.dumps(facts), file=sys.stderr, flush=True)


class RoomServer:
    def __init__(self, options):
        self.options = options
        self.variants = {text.split(":")[0] for text in options.variant}
        self.full_until = next((float(text.split(":")[1]) for text in options.variant
                                if text.startswith("full-until:")), 0)
        self.started = time.monotonic()
        self.members = {}
        renamed = "renamed" in self.variants
        self.otherjoin = "other_joined" if renamed else "otherjoin"
        self.leaved = "left" if renamed else "leaved"
        self.bye = "bay" if renamed else "bye"
        self.sio = socketio.AsyncServer(
            async_mode="aiohttp",
            async_handlers=False,
            client_manager=RoomManager(),
            cors_allowed_origins="*",
            ping_interval=options.ping_interval,
            ping_timeout=options.ping_timeout,
            allow_upgrades=not options.polling_only,
        )
        if "hostile-ids" in self.variants:
            self.sio.manager.id_prefix = HOSTILE_PREFIX
        for name in ("connect", "disconnect", "join", "leave", "message"):
            self.sio.on(name, getattr(self, "on_" + name))

    async def emit(self, event, *arguments, room, skip=None):
        await self.sio.emit(event, arguments, room=room, skip_sid=skip)

    async def on_connect(self, sid, environ, auth=None):
        log(event="connect", sid=sid)
        if "greeting" in self.variants:
            await self.emit("joined", "welcome", sid, room=sid)

    async def on_disconnect(self, sid, reason=None):
        log(event="disconnect", sid=sid)
        for room, members in list(self.members.items()):
            if sid not in members:
                continue
            members.discard(sid)
            if "bye-on-disconnect" in self.variants:
                await self.emit(self.bye, room, sid, room=room, skip=sid)

    async def on_join(self, sid, room=None, *rest):
        if "silent" in self.variants or not isinstance(room, str):
            return
        members = self.members.setdefault(room, set())
        is_full = time.monotonic() - self.started < self.full_until
        if is_full or (sid not in members and len(members) >= self.options.capacity):
            log(event="full", sid=sid, room=room)
            await self.emit("full", room, sid, room=sid)
            return
        members.add(sid)
        await call(self.sio.enter_room, sid, room)
        log(event="join", sid=sid, room=room, members=len(members))
        broadcast = "broadcast-joined" in self.variants
        await self.emit("joined", room, sid, room=room if broadcast else sid)
        if len(members) > 1:
            newcomer = () if "otherjoin-room-only" in self.variants else (sid,)
            await self.emit(self.otherjoin, room, *newcomer, room=room, skip=None if broadcast else sid)

    async def on_leave(self, sid, room=None, *rest):
        if "silent" in self.variants or not isinstance(room, str):
            return
        if "keep-member" not in self.variants:
            self.members.get(room, set()).discard(sid)
            await call(self.sio.leave_room, sid, room)
        log(event="leave", sid=sid, room=room)
        if "no-bye" not in self.variants:
            await self.emit(self.bye, room, sid, room=room, skip=sid)
        await self.emit(self.leaved, room, sid, room=sid)

    async def on_message(self, sid, room=None, data=None, *rest):
        if "silent" in self.variants or not isinstance(room, str):
            return
        kind = data.get("type") if isinstance(data, dict) else type(data).__name__
        log(event="message", sid=sid, room=room, type=str(kind)[:40])
        arguments = (room, sid, data) if "three-arguments" in self.variants else (room, data)
        await self.emit("message", *arguments, room=room, skip=None if "echo" in self.variants else sid)

    async def remove(self, sid, how):
        for room, members in self.members.items():
            if sid not in members:
                continue
            log(event="remove", sid=sid, room=room, how=how)
            members.discard(sid)
            await call(self.sio.leave_room, sid, room)
            await self.emit(self.bye, room, sid, room=room)
            if how == "leaved":
                await self.emit(self.leaved, room, sid, room=sid)
        if how == "disconnect":
            await self.sio.disconnect(sid)

    async def obey(self, reader):
        while line := await reader.readline():
            command = json.loads(line)
            await self.remove(command["remove"], command["how"])

    @web.middleware
    async def limit_transport(self, request, handler):
        transport = request.query.get("transport")
        refused = "websocket" if self.options.polling_only else "polling" if self.options.websocket_only else None
        if transport is not None and transport == refused:
            return web.json_response({"code": 0, "message": "Transport unknown"}, status=400)
        return await handler(request)


async def call(function, *arguments):
    """Calls what is a coroutine in one version of python-socketio and a function in the other."""
    result = function(*arguments)
    if inspect.isawaitable(result):
        await result


async def serve(options):
    server = RoomServer(options)
    application = web.Application(middlewares=[server.limit_transport])
    server.sio.attach(application, socketio_path=options.path.strip("/"))
    tls = None
    if options.tls:
        tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        tls.load_cert_chain(*options.tls)
    runner = web.AppRunner(application, access_log=None, shutdown_timeout=1)
    await runner.setup()
    await web.TCPSite(runner, options.host, options.port, ssl_context=tls).start()
    commands = None
    if stat.S_ISFIFO(os.fstat(sys.stdin.fileno()).st_mode):
        reader = asyncio.StreamReader()
        await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
        commands = asyncio.create_task(server.obey(reader))
    ended = asyncio.Event()
    for name in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(name, ended.set)
    print(json.dumps({"port": runner.addresses[0][1]}), flush=True)
    await ended.wait()
    if commands:
        commands.cancel()
    await asyncio.wait_for(runner.cleanup(), timeout=5)


def main():
    parser = argparse.ArgumentParser(description=__doc__, epilog=VARIANTS,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=0, help="0: any free port")
    parser.add_argument("--path", default="/socket.io/")
    parser.add_argument("--capacity", type=int, default=2, help="members a room takes")
    parser.add_argument("--variant", action="append", default=[], help="see below")
    transports = parser.add_mutually_exclusive_group()
    transports.add_argument("--polling-only", action="store_true")
    transports.add_argument("--websocket-only", action="store_true")
    parser.add_argument("--tls", nargs=2, metavar=("CERT", "KEY"), help="PEM files")
    parser.add_argument("--ping-interval", type=float, default=25, help="seconds")
    parser.add_argument("--ping-timeout", type=float, default=20, help="seconds")
    options = parser.parse_args()
    known = {line.split()[0].split(":")[0] for line in VARIANTS.splitlines()[1:]}
    for text in options.variant:
        if text.split(":")[0] not in known:
            parser.error(f"unknown variant {text!r}")
    asyncio.run(serve(options))


if __name__ == "__main__":
    main()
