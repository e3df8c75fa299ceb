// SPDX-License-Identifier: Apache-2.0

/// A call of four python-socketio clients, run by the interpreter of a venv that `Tests/Peers/make_venvs.sh` makes.
///
/// Works with releases 4.x and 5.x. Its arguments are the server's URL and the transports, separated by commas. It prints
/// one JSON object: each client's id, transport, and the events that it got, in order. Every wait has a limit.
enum SocketIOClientScript {
    static let text = #"""
        import asyncio, json, sys
        import socketio

        url, transports = sys.argv[1], sys.argv[2].split(",")
        EVENTS = ("joined", "otherjoin", "full", "leaved", "bye", "message")

        class Client:
            def __init__(self, name):
                self.name, self.events, self.changed = name, [], asyncio.Event()
                self.socket = socketio.AsyncClient(reconnection=False)
                for event in EVENTS:
                    self.socket.on(event, self.recorder(event))

            def recorder(self, event):
                async def record(*arguments):
                    self.events.append([event, *arguments])
                    self.changed.set()
                return record

            async def connect(self):
                await self.socket.connect(url, transports=transports)

            async def wait(self, event, count=1):
                async def until():
                    while sum(e[0] == event for e in self.events) < count:
                        self.changed.clear()
                        await self.changed.wait()
                await asyncio.wait_for(until(), 60)

            async def emit(self, *event):
                await self.socket.emit(event[0], event[1:] if len(event) > 2 else event[1])

        async def main():
            ann, ben, cid, dan = clients = [Client(name) for name in ("ann", "ben", "cid", "dan")]
            for client in clients:
                await client.connect()
            for client in (ann, ben, cid):
                await client.emit("join", "7")
                await client.wait("joined")
            await dan.emit("join", "7")
            await dan.wait("full")
            ids = {client.name: client.events[0][2] for client in clients}

            await ann.emit("message", "7", {"type": "offer", "sdp": "grüße 😀\r\n"})
            await ben.wait("message")
            await cid.wait("message")
            await ann.emit("message", "7", {"type": "answer", "to": ids["cid"], "from": "liar"})
            await cid.wait("message", 2)
            await dan.emit("message", "7", {"type": "intruder"})
            await cid.emit("message", "7", {"type": "candidate", "label": 0})
            await ben.wait("message", 2)
            await ann.wait("message")

            await ben.emit("leave", "7")
            await ben.wait("leaved")
            await ann.wait("bye")
            await dan.emit("join", 7)
            await dan.wait("joined")
            used = {client.name: client.socket.transport() for client in clients}
            await dan.socket.disconnect()
            await ann.wait("bye", 2)
            for client in (ann, ben, cid):
                await client.socket.disconnect()
            print(json.dumps({"ids": ids, "transports": used, "events": {c.name: c.events for c in clients}}))

        asyncio.run(main())
        """#
}
