#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""An AppRTC room server and its collider in one process, with the rules and texts of the original.

Room server: POST /join/{room}, /message/{room}/{client}, /leave/{room}/{client}; two members, the first one is the
initiator and its messages are stored until the second comes. A client that just vanishes is never removed. Collider:
the WebSocket /ws (Origin required; register once and first, then send) and POST and DELETE /{room}/{client}; a client
without a WebSocket is kept for --client-timeout seconds, messages without a receiver yet are queued. TURN: POST
/iceconfig (Referer required) or the older GET /turn (Origin required).

Runs in .venv/socketio5. Prints {"port": N} when it listens; events go to standard error, one JSON object a line;
messages that no proper client sends are logged as violations. Takes commands on standard input, one JSON object a line:
{"forget": "collider"} drops every WebSocket and all that the collider knows, {"forget": "all"} the rooms as well.

Example: .venv/socketio5/bin/python Tests/Peers/apprtc_server.py --port 0 --turn new
"""

import argparse
import asyncio
import json
import random
import re
import signal
import sys
from urllib.parse import urlparse

from aiohttp import WSMsgType, web

IDENTIFIER = re.compile(r"[A-Za-z0-9_-]+\Z")
CAPACITY = 2
QUEUE = 1024


def log(**facts):
    print(json.dumps(facts), file=sys.stderr, flush=True)


def violation(what, **facts):
    log(event="violation", what=what, **facts)


def kind(message):
    """The type of a message, for the log."""
    try:
        value = json.loads(message)
    except ValueError:
        return None
    return value.get("type") if isinstance(value, dict) else None


class Client:
    """A client of the collider."""

    def __init__(self, name):
        self.name, self.socket, self.queue, self.timer = name, None, [], None


class Collider:
    def __init__(self, client_timeout):
        self.client_timeout = client_timeout
        self.rooms = {}

    def client(self, room, name):
        """The client, new if there is none; None if the room has no place for another."""
        clients = self.rooms.setdefault(room, {})
        if name not in clients:
            if len(clients) >= CAPACITY:
                return None
            clients[name] = Client(name)
            self.expire(room, clients[name])
        return clients[name]

    def expire(self, room, client):
        client.timer = asyncio.get_running_loop().call_later(self.client_timeout, self.remove, room, client.name)

    def remove(self, room, name):
        client = self.rooms.get(room, {}).pop(name, None)
        if client is None:
            return
        log(event="removed", room=room, client=name)
        if client.timer:
            client.timer.cancel()
        if client.socket:
            asyncio.ensure_future(client.socket.close())
        if not self.rooms[room]:
            del self.rooms[room]

    def other(self, room, name):
        return next((client for other, client in self.rooms.get(room, {}).items() if other != name), None)

    async def deliver(self, socket, message="", error=""):
        await socket.send_str(json.dumps({"msg": message, "error": error}) + "\n")

    async def register(self, room, name, socket):
        """Why not, or None."""
        client = self.client(room, name)
        if client is None:
            return "Max room capacity reached"
        if client.socket is not None:
            return "Duplicated registration"
        if client.timer:
            client.timer.cancel()
        client.socket, client.timer = socket, None
        log(event="register", room=room, client=name)
        other = self.other(room, name)
        if other:
            queue, other.queue = other.queue, []
            for message in queue:
                await self.deliver(socket, message)
        return None

    async def send(self, room, name, message):
        """Whether the message went out or waits."""
        client = self.client(room, name)
        if client is None:
            return False
        other = self.other(room, name)
        log(event="relay", room=room, client=name, type=kind(message), isQueued=not (other and other.socket))
        if other and other.socket:
            await self.deliver(other.socket, message)
        elif len(client.queue) < QUEUE:
            client.queue.append(message)
        else:
            return False
        return True

    async def forget(self):
        rooms, self.rooms = self.rooms, {}
        for clients in rooms.values():
            for client in clients.values():
                if client.timer:
                    client.timer.cancel()
                if client.socket:
                    client.socket._writer.transport.abort()

    async def serve(self, request):
        origin = urlparse(request.headers.get("Origin", ""))
        if not (origin.scheme in ("http", "https") and origin.netloc):
            violation("no Origin", origin=request.headers.get("Origin"))
            raise web.HTTPForbidden()
        socket = web.WebSocketResponse()
        await socket.prepare(request)
        room = name = None
        async for frame in socket:
            try:
                value = json.loads(frame.data) if frame.type == WSMsgType.TEXT else None
                if not isinstance(value, dict):
                    raise ValueError("not an object")
            except ValueError as error:
                violation("not JSON", text=str(frame.data)[:200])
                await self.deliver(socket, error=f"Receive error: {error}")
                break
            error, closes = await self.obey(value, socket, room, name)
            if value.get("cmd") == "register" and not error:
                room, name = value["roomid"], value["clientid"]
            if error:
                violation(error, room=room, client=name)
                await self.deliver(socket, error=error)
                if closes:
                    break
        await socket.close()
        client = self.rooms.get(room, {}).get(name)
        if client and client.socket is socket:
            log(event="lost", room=room, client=name)
            client.socket = None
            self.expire(room, client)
        return socket

    async def obey(self, value, socket, room, name):
        """The fault of a command, or None; and whether that ends the connection."""
        command = value.get("cmd")
        if command == "register":
            if room is not None:
                return "Duplicated register request", True
            if not value.get("roomid") or not value.get("clientid"):
                return "Invalid register request: missing 'clientid' or 'roomid'", True
            return await self.register(value["roomid"], value["clientid"], socket), True
        if command == "send":
            if room is None:
                return "Client not registered", True
            if not isinstance(value.get("msg"), str) or not value["msg"]:
                return "Invalid send request: missing 'msg'", True
            if kind(value["msg"]) is None:
                violation("a message without a type", room=room, client=name, text=value["msg"][:200])
            await self.send(room, name, value["msg"])
            return None, False
        return "Invalid message: unexpected 'cmd'", False


class RoomServer:
    def __init__(self, options):
        self.options = options
        self.collider = Collider(options.client_timeout)
        self.rooms = {}
        self.port = None

    # Room server.

    async def join(self, request):
        room = request.match_info["room"]
        if not IDENTIFIER.match(room):
            raise web.HTTPNotFound()
        if await request.read():
            violation("a join with a body", room=room)
        members = self.rooms.setdefault(room, {})
        if self.options.full or len(members) >= CAPACITY:
            log(event="full", room=room)
            return web.json_response({"result": "FULL", "params": {"messages": []}})
        client = "".join(random.choices("0123456789", k=8))
        is_initiator = not members
        messages = []
        for stored in members.values():
            messages += stored
            stored.clear()
        members[client] = []
        log(event="join", room=room, client=client, isInitiator=is_initiator, members=len(members),
            query=request.query_string, stored=[kind(message) for message in messages])
        is_typed = self.options.typed
        base = f"http://127.0.0.1:{self.port}"
        parameters = {
            "client_id": client, "room_id": room, "room_link": f"{base}/r/{room}",
            "is_initiator": is_initiator if is_typed else json.dumps(is_initiator),
            "messages": [json.loads(message) for message in messages] if is_typed else messages,
            "wss_url": f"ws://127.0.0.1:{self.port}/ws", "wss_post_url": base,
            "pc_config": json.dumps({"iceServers": [], "bundlePolicy": "max-bundle", "rtcpMuxPolicy": "require"}),
            "pc_constraints": json.dumps({"optional": []}), "offer_options": "{}",
            "media_constraints": json.dumps({"audio": True, "video": True}),
            "ice_server_url": f"{base}/iceconfig?key=k" if self.options.turn == "new" else "",
            "ice_server_transports": "", "is_loopback": "false", "bypass_join_confirmation": "false",
            "version_info": json.dumps({"gitHash": "0"}), "header_message": "", "include_loopback_js": "",
            "error_messages": [], "warning_messages": [],
        }
        if self.options.turn == "old":
            parameters["turn_url"] = f"{base}/turn?username={client}&key=k"
        return web.json_response({"result": "SUCCESS", "params": parameters})

    async def message(self, request):
        room, client = request.match_info["room"], request.match_info["client"]
        text = await request.text()
        members = self.rooms.get(room)
        if not members:
            return web.json_response({"result": "UNKNOWN_ROOM"})
        if client not in members:
            return web.json_response({"result": "UNKNOWN_CLIENT"})
        if kind(text) is None:
            violation("a message without a type", room=room, client=client, text=text[:200])
        log(event="message", room=room, client=client, type=kind(text), isStored=len(members) < CAPACITY,
            query=request.query_string)
        if len(members) < CAPACITY:
            members[client].append(text)
        elif not await self.collider.send(room, client, text):
            raise web.HTTPInternalServerError()
        return web.json_response({"result": "SUCCESS"})

    async def leave(self, request):
        room, client = request.match_info["room"], request.match_info["client"]
        members = self.rooms.get(room, {})
        is_known = members.pop(client, None) is not None
        log(event="leave", room=room, client=client, isKnown=is_known, members=len(members))
        if not members:
            self.rooms.pop(room, None)
        return web.Response()

    # TURN.

    async def iceconfig(self, request):
        log(event="iceconfig")
        if not request.headers.get("Referer"):
            violation("no Referer")
            raise web.HTTPForbidden()
        return web.json_response({"iceServers": [{"urls": [f"stun:127.0.0.1:{self.options.stun_port}"]}]})

    async def turn(self, request):
        log(event="turn")
        if not request.headers.get("Origin"):
            violation("no Origin at the TURN service")
            raise web.HTTPForbidden()
        return web.json_response({"username": "u", "password": "p", "uris": ["turn:127.0.0.1:9?transport=udp"]})

    # Collider.

    async def post(self, request):
        room, client = request.match_info["room"], request.match_info["client"]
        if not await self.collider.send(room, client, await request.text()):
            raise web.HTTPInternalServerError()
        return web.Response(text="OK")

    async def delete(self, request):
        self.collider.remove(request.match_info["room"], request.match_info["client"])
        return web.Response(text="OK")

    async def obey(self, reader):
        while line := await reader.readline():
            what = json.loads(line)["forget"]
            if what == "all":
                self.rooms.clear()
            await self.collider.forget()
            log(event="forgotten", what=what)

    async def serve(self):
        application = web.Application()
        application.add_routes([
            web.post("/join/{room}", self.join), web.post("/message/{room}/{client}", self.message),
            web.post("/leave/{room}/{client}", self.leave), web.post("/iceconfig", self.iceconfig),
            web.get("/turn", self.turn), web.get("/ws", self.collider.serve),
            web.post("/{room}/{client}", self.post), web.delete("/{room}/{client}", self.delete),
        ])
        runner = web.AppRunner(application, access_log=None, shutdown_timeout=1)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", self.options.port).start()
        self.port = runner.addresses[0][1]
        loop = asyncio.get_running_loop()
        reader = asyncio.StreamReader()
        await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
        commands = asyncio.create_task(self.obey(reader))
        ended = asyncio.Event()
        for name in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(name, ended.set)
        print(json.dumps({"port": self.port}), flush=True)
        await ended.wait()
        commands.cancel()
        await self.collider.forget()
        await asyncio.wait_for(runner.cleanup(), timeout=5)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--port", type=int, default=0, help="0: any free port")
    parser.add_argument("--client-timeout", type=float, default=10, help="the collider keeps a lost client so long")
    parser.add_argument("--turn", choices=("none", "new", "old"), default="none")
    parser.add_argument("--stun-port", type=int, default=9, help="of the STUN server that the newer TURN service names")
    parser.add_argument("--typed", action="store_true", help="booleans and objects where the original has strings")
    parser.add_argument("--full", action="store_true", help="every room is full")
    asyncio.run(RoomServer(parser.parse_args()).serve())


if __name__ == "__main__":
    main()
