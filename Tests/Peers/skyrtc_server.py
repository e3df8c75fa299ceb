#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A SkyRTC room server, after the behaviour of the servers that people run.

--dialect classic: as the Node original. Any path. A mesh without limit; routes by id over the whole server; relays of
a candidate only socketId, label and candidate, so without its id; knows a member's end by its WebSocket only. JSON that
is wrong ends the connection (it would end the original's process), and so does a frame that is not text or binary JSON.

--dialect call: as the Java server. Path /ws/USER/DEVICE; device must be a number. Rooms are created; joining or leaving
a room that does not exist ends the connection with an error; joining a full one is ignored; a WebSocket that closes
stays a member, and whatever is sent to such a member is an error from then on (the original loops for ever). GET
/roomList, /userList.

Prints {"port": N} when it listens; what happens goes to standard error, one JSON object a line. Ends on SIGTERM.

Example: .venv/peers/bin/python Tests/Peers/skyrtc_server.py --port 3000 --dialect classic
"""

import argparse
import asyncio
import json
import signal
import ssl
import sys
import uuid

from aiohttp import WSMsgType, web


def log(**facts):
    print(json.dumps(facts), file=sys.stderr, flush=True)


class BadMessage(Exception):
    """Input that would throw in the original."""


class Classic:
    def __init__(self, is_star):
        self.is_star = is_star
        self.sockets = {}
        self.rooms = {}

    def routes(self):
        return [web.get("/{path:.*}", self.connect)]

    async def connect(self, request):
        socket = web.WebSocketResponse(max_msg_size=4_000_000)
        await socket.prepare(request)
        socket_id = str(uuid.uuid4())
        self.sockets[socket_id] = socket
        log(event="connect", id=socket_id)
        try:
            async for message in socket:
                if message.type not in (WSMsgType.TEXT, WSMsgType.BINARY):
                    break
                await self.handle(socket_id, message)
        except Exception as error:  # whatever it is, it ends the connection
            log(event="violation", id=socket_id, what=repr(error))
        finally:
            await self.disconnect(socket_id)
        return socket

    async def send(self, socket_id, name, **data):
        socket = self.sockets.get(socket_id)
        if socket is not None and not socket.closed:
            await socket.send_str(json.dumps({"eventName": name, "data": data}))

    async def disconnect(self, socket_id):
        self.sockets.pop(socket_id, None)
        for room, members in self.rooms.items():
            if socket_id in members:
                self.rooms[room] = [member for member in members if member != socket_id]
                for member in self.rooms[room]:
                    await self.send(member, "_remove_peer", socketId=socket_id)
        log(event="disconnect", sid=socket_id)

    async def handle(self, socket_id, message):
        value = json.loads(message.data)
        name, data = value["eventName"], value.get("data") or {}
        if name == "__join":
            room = data.get("room") or "__default"
            members = self.rooms.setdefault(room, [])
            others = members[:1] if self.is_star else list(members)
            members.append(socket_id)
            log(event="join", room=room, sid=socket_id)
            for member in others:
                await self.send(member, "_new_peer", socketId=socket_id)
            await self.send(socket_id, "_peers", connections=others, you=socket_id)
        elif name in ("__offer", "__answer"):
            sdp = data["sdp"]
            if not isinstance(sdp, dict) or sdp["type"] != name[2:] or not isinstance(sdp["sdp"], str):
                raise BadMessage(name)
            log(event=name[2:], sid=socket_id, to=data["socketId"])
            await self.send(data["socketId"], name[1:], sdp=sdp, socketId=socket_id)
        elif name == "__ice_candidate":
            if type(data["label"]) is not int or not data["candidate"]:
                raise BadMessage(name)
            await self.send(data["socketId"], "_ice_candidate", label=data["label"], candidate=data["candidate"],
                            socketId=socket_id)


class User:
    def __init__(self, name, socket):
        self.name, self.socket = name, socket


class Call:
    def __init__(self):
        self.users = {}
        self.rooms = {}

    def routes(self):
        return [web.get("/ws/{user}/{device}", self.connect), web.get("/roomList", self.room_list),
                web.get("/userList", self.user_list)]

    async def room_list(self, request):
        return web.json_response([{"roomId": name, "userId": room["owner"], "maxSize": room["size"],
                                   "currentSize": len(room["users"])}
                                  for name, room in self.rooms.items() if room["size"] > 2])

    async def user_list(self, request):
        return web.json_response([{"userId": name, "avatar": "p1.jpeg"} for name in self.users])

    async def connect(self, request):
        name, device = request.match_info["user"], int(request.match_info["device"])
        socket = web.WebSocketResponse(max_msg_size=65536)
        await socket.prepare(request)
        if device != 0:
            raise BadMessage("a user with a PC only")
        user = self.users[name] = User(name, socket)
        await self.send(user, "__login_success", userID=name, avatar="p1.jpeg")
        log(event="connect", user=name)
        try:
            async for message in socket:
                if message.type is not WSMsgType.TEXT:
                    break
                value = json.loads(message.data)
                handler = getattr(self, "on" + value["eventName"].replace("__", "_", 1), None)
                if handler:
                    await handler(value["data"], message.data)
        except Exception as error:  # whatever it is, it ends the connection
            log(event="violation", user=name, what=repr(error))
        finally:
            user.socket = None
            if self.users.get(name) is user:
                del self.users[name]
            log(event="disconnect", user=name)
        return socket

    async def pass_on(self, user, text):
        if user.socket is None:
            raise BadMessage(f"endless loop: {user.name} has no session")
        await user.socket.send_str(text)

    async def send(self, user, name, **data):
        await self.pass_on(user, json.dumps({"eventName": name, "data": data}))

    async def relay(self, name, text):
        if name in self.users:
            await self.pass_on(self.users[name], text)

    async def on_create(self, data, text):
        if data["room"] in self.rooms:
            return
        size, user = int(float(data["roomSize"])), self.users[data["userID"]]
        self.rooms[data["room"]] = {"size": size, "owner": user.name, "users": [user]}
        log(event="create", room=data["room"], sid=user.name)
        await self.send(user, "__peers", connections="", you=user.name, roomSize=size)

    async def on_join(self, data, text):
        room, user = self.rooms[data["room"]], self.users[data["userID"]]
        if len(room["users"]) >= room["size"]:
            log(event="full", room=data["room"], sid=user.name)
            return
        others = [other for other in room["users"] if other.name != user.name]
        room["users"].append(user)
        log(event="join", room=data["room"], sid=user.name, members=[other.name for other in room["users"]])
        await self.send(user, "__peers", connections=",".join(other.name for other in others), you=user.name,
                        roomSize=room["size"])
        for other in others:
            await self.send(other, "__new_peer", userID=user.name)

    async def on_leave(self, data, text):
        room = self.rooms[data["room"]]
        log(event="leave", room=data["room"], sid=data["fromID"])
        room["users"] = [user for user in room["users"] if user.name != data["fromID"]]
        for user in room["users"]:
            await self.pass_on(user, text)
        if not room["users"] or (len(room["users"]) == 1 and room["size"] == 2):
            del self.rooms[data["room"]]

    async def on_invite(self, data, text):
        if not isinstance(data["audioOnly"], bool):
            raise BadMessage("audioOnly")
        for name in data["userList"].split(","):
            await self.relay(name, text)

    async def on_ring(self, data, text):
        log(event="ring", sid=data["fromID"], to=data["toID"])
        await self.relay(data["toID"], text)

    async def on_cancel(self, data, text):
        for name in data["userList"].split(","):
            await self.relay(name, text)
        self.rooms.pop(data["room"], None)

    async def on_reject(self, data, text):
        log(event="reject", sid=data["fromID"], to=data["toID"])
        await self.relay(data["toID"], text)
        if data["room"] in self.rooms and self.rooms[data["room"]]["size"] == 2:
            del self.rooms[data["room"]]

    async def on_offer(self, data, text):
        # Phones crash on other types.
        if not isinstance(data["sdp"], str) or not data["fromID"]:
            raise BadMessage(text[:200])
        log(event="description", sid=data["fromID"], to=data["userID"])
        await self.relay(data["userID"], text)

    on_answer = on_offer

    async def on_ice_candidate(self, data, text):
        if type(data["label"]) is not int or not isinstance(data["id"], str) or not data["candidate"]:
            raise BadMessage(text[:200])
        await self.relay(data["userID"], text)

    async def on_disconnect(self, data, text):
        await self.relay(data["userID"], text)

    on_audio = on_disconnect


async def serve(options):
    application = web.Application()
    application.add_routes((Classic(options.star) if options.dialect == "classic" else Call()).routes())
    runner = web.AppRunner(application, access_log=None, shutdown_timeout=0.2)
    await runner.setup()
    tls = None
    if options.tls:
        tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        tls.load_cert_chain(*options.tls)
    await web.TCPSite(runner, options.host, options.port, ssl_context=tls).start()
    ended = asyncio.Event()
    for name in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(name, ended.set)
    print(json.dumps({"port": runner.addresses[0][1]}), flush=True)
    await ended.wait()
    await asyncio.wait_for(runner.cleanup(), timeout=5)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=0, help="0: any free port")
    parser.add_argument("--dialect", choices=("classic", "call"), default="classic")
    parser.add_argument("--star", action="store_true", help="classic: newcomers and the first member see nobody else")
    parser.add_argument("--tls", nargs=2, metavar=("CERT", "KEY"), help="PEM files")
    asyncio.run(serve(parser.parse_args()))


if __name__ == "__main__":
    main()
