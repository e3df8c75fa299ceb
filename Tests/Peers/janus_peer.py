#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A member of a Janus VideoRoom on aiortc, over Janus' HTTP API: publishes the test pattern, and receives the publisher
whose name is --watch.

Comes back automatically when the server was away. Prints one JSON object a line: joined, connected, closed (figures of
one connection), lost, end (figures of all). Leaves and ends on SIGTERM or after --limit seconds.

Exit codes: 0 was connected, 1 never connected.

Example: .venv/peers/bin/python Tests/Peers/janus_peer.py --url http://127.0.0.1:8088/janus --room 1234 --display Ada
"""

import argparse
import asyncio
import contextlib
import itertools
import json
import logging
import signal
import sys
import types
import urllib.error
import urllib.request


from aiortc_peer import LIMIT, Connection, gather_loopback, report, run_to_the_end

PLUGIN = "janus.plugin.videoroom"
# Longer than a long poll takes: no wait is this long except for a server that hangs.
WAIT = 90


class SessionLost(Exception):
    """The server does not know us any more, or is away."""


class Session:
    """One session: requests, and what the long poll brings, sorted by handle."""

    def __init__(self, url):
        self.url = url
        self.path = ""
        self.transactions = itertools.count(1)
        self.results = {}
        self.queues = {}

    async def http(self, path, body=None, timeout=WAIT):
        def exchange():
            data = json.dumps(body).encode() if body else None
            request = urllib.request.Request(self.url + path, data, {"Content-Type": "application/json"})
            with urllib.request.urlopen(request, timeout=timeout) as answer:
                return json.load(answer)
        try:
            return await asyncio.to_thread(exchange)
        except (OSError, ValueError) as error:
            raise SessionLost(str(error)) from error

    async def request(self, kind, handle=None, **members):
        transaction = f"peer-{next(self.transactions)}"
        path = self.path + (f"/{handle}" if handle else "")
        result = self.results[transaction] = asyncio.get_running_loop().create_future()
        answer = await self.http(path, {"janus": kind, "transaction": transaction, **members}, WAIT)
        if answer["janus"] == "error":
            raise SessionLost(f"{kind}: {answer['error']}")
        if answer["janus"] == "ack" and kind == "message":
            answer = await asyncio.wait_for(result, WAIT)
        self.results.pop(transaction, None)
        return answer

    async def ask(self, handle, body, description=None):
        """Asks the plugin; its data and its description."""
        jsep = {"jsep": {"type": description["type"], "sdp": description["sdp"]}} if description else {}
        answer = await self.request("message", handle, body=body, **jsep)
        data = answer["plugindata"]["data"]
        if "error_code" in data:
            raise SessionLost(f"{body['request']}: {data['error_code']} {data['error']}")
        return data, answer.get("jsep")

    async def begin(self):
        self.path = f"/{(await self.request('create'))['data']['id']}"

    async def attach(self):
        handle = (await self.request("attach", plugin=PLUGIN))["data"]["id"]
        self.queues[handle] = asyncio.Queue()
        return handle

    async def poll(self):
        while True:
            answer = await self.http(f"{self.path}?maxev=5")
            for message in answer if isinstance(answer, list) else [answer]:
                if message["janus"] == "error":
                    raise SessionLost(message["error"]["reason"])
                if message["janus"] == "timeout":
                    raise SessionLost("timeout")
                result = self.results.pop(message.get("transaction"), None)
                if result and not result.done():
                    result.set_result(message)
                elif message.get("sender") in self.queues:
                    self.queues[message["sender"]].put_nowait(message)


class Member:
    """One stay in the room."""

    def __init__(self, options, closed):
        self.options = options
        self.closed = closed
        self.session = Session(options.url)
        self.published = None
        self.watched = {}

    def connection(self, send):
        """A connection that sends, or one that receives."""
        return Connection(types.SimpleNamespace(**{**vars(self.options), "send": send, "receive": False}))

    async def stay(self):
        await self.session.begin()
        poll = asyncio.create_task(self.session.poll())
        work = asyncio.create_task(self.work())
        try:
            done, _ = await asyncio.wait((poll, work), return_when=asyncio.FIRST_COMPLETED)
            for task in done:
                task.result()
        finally:
            for task in (poll, work):
                task.cancel()
            await asyncio.gather(poll, work, return_exceptions=True)

    async def work(self):
        room = {"room": self.options.room, **({"pin": self.options.pin} if self.options.pin else {})}
        handle = await self.session.attach()
        data, _ = await self.session.ask(
            handle, {"request": "join", "ptype": "publisher", "display": self.options.display, **room})
        report(event="joined", id=data["id"], publishers=[each.get("display") for each in data["publishers"]])
        await self.look(data, room)
        if self.options.send == "synthetic":
            self.published = self.connection("synthetic")
            _, answer = await self.session.ask(handle, {"request": "publish"}, await self.published.offer())
            await self.published.take_answer(answer)
        while True:
            message = await self.session.queues[handle].get()
            data = message.get("plugindata", {}).get("data", {})
            report(event="room", **{key: data[key] for key in ("leaving", "unpublished", "kicked") if key in data},
                   **({"publishers": [each.get("display") for each in data["publishers"]]}
                      if "publishers" in data else {}))
            for key in ("leaving", "unpublished", "kicked"):
                await self.close("watched", self.watched.pop(data.get(key), None))
            await self.look(data, room)

    async def look(self, data, room):
        """Receives the publishers whom we want to see."""
        for publisher in data.get("publishers", []):
            if publisher.get("display") != self.options.watch or publisher["id"] in self.watched:
                continue
            handle = await self.session.attach()
            _, offer = await self.session.ask(handle, {"request": "join", "ptype": "subscriber", **room,
                                                       "streams": [{"feed": publisher["id"]}]})
            connection = self.watched[publisher["id"]] = self.connection("none")
            report(event="watching", display=publisher["display"])
            await self.session.ask(handle, {"request": "start"}, await connection.answer(offer))

    async def close(self, name, connection):
        if connection:
            self.closed.append((name, await connection.close()))

    async def end(self):
        await self.close("published", self.published)
        for connection in self.watched.values():
            await self.close("watched", connection)
        with contextlib.suppress(SessionLost):
            await self.session.request("destroy")


async def run(options):
    ended = asyncio.Event()
    for name in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(name, ended.set)
    asyncio.get_running_loop().call_later(options.limit, ended.set)
    closed = []
    while not ended.is_set():
        member = Member(options, closed)
        stay, end = asyncio.create_task(member.stay()), asyncio.create_task(ended.wait())
        await asyncio.wait((stay, end), return_when=asyncio.FIRST_COMPLETED)
        stay.cancel()
        end.cancel()
        result, _ = await asyncio.gather(stay, end, return_exceptions=True)
        await member.end()
        if not ended.is_set():
            report(event="lost", reason=repr(result))
            with contextlib.suppress(asyncio.TimeoutError):
                await asyncio.wait_for(ended.wait(), 0.5)
    published = [figures for name, figures in closed if name == "published"]
    watched = [figures for name, figures in closed if name == "watched"]
    report(event="end", framesSent=sum(each["framesSent"] for each in published),
           framesDecoded=sum(each["framesDecoded"] for each in watched),
           countersRead=sum(each["countersRead"] for each in watched),
           audioFramesReceived=sum(each["audioFramesReceived"] for each in watched))
    return 0 if any(figures["connected"] for _, figures in closed) else 1


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--url", required=True, help="of Janus' HTTP interface")
    parser.add_argument("--room", required=True, type=int)
    parser.add_argument("--pin")
    parser.add_argument("--display", required=True, help="our name in the room")
    parser.add_argument("--watch", help="name of the publisher to receive")
    parser.add_argument("--send", choices=("synthetic", "none"), default="synthetic")
    parser.add_argument("--codec", choices=("vp8", "h264"), help="the only video codec to negotiate")
    parser.add_argument("--audio-codec", choices=("opus", "pcmu", "pcma"), help="the only audio codec to negotiate")
    parser.add_argument("--size", default="640x360")
    parser.add_argument("--fps", type=int, default=15)
    parser.add_argument("--notes", metavar="FILE", help="a line of JSON about each decoded frame")
    parser.add_argument("--limit", type=float, default=LIMIT, help="seconds until it ends in any case")
    parser.add_argument("--verbose", action="store_true")
    options = parser.parse_args()
    options.width, options.height = map(int, options.size.split("x"))
    logging.basicConfig(level=logging.INFO if options.verbose else logging.WARNING, stream=sys.stderr)
    gather_loopback()
    run_to_the_end(run(options))


if __name__ == "__main__":
    main()
