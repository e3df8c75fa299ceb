#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""An app of the XMPP tutorials on slixmpp and aiortc: takes calls or makes one, by chat messages with JSON bodies.

As the apps do: sends descriptions without candidates and each candidate separately under `sdp`, expects `roomId` before
an offer, keeps messages that come before it accepts and drains them with the description first, answers `bye` with
`bye` once, and ends at a message body that is JSON but no object. Stays signed in between calls and comes back when the
server was away. Prints one JSON object a line: online, seen, ringing, connected, closed (figures of one connection),
bye, message (text that is no signalling), offline, end (figures of all).

On standard input, one JSON object a line: {"say": TEXT, "to": JID} sends a message, {"raw": XML} sends anything,
{"call": true} calls, {"hang_up": true} ends the call.

Exit codes: 0 was connected, 1 never connected, 3 could not sign in.

Example: .venv/peers/bin/python Tests/Peers/xmpp_peer.py --jid alice@example.org --password pw --server 127.0.0.1:15222
    --peer recorder@example.org --call --send synthetic
"""

import argparse
import asyncio
import contextlib
import json
import random
import re
import signal
import ssl
import sys
import time

from slixmpp import ClientXMPP

from aiortc_peer import Connection, parse, report, run_to_the_end


class Peer:
    """One account: at most one call at a time."""

    def __init__(self, options):
        self.options = options
        self.connection = None
        self.remote = None
        self.queue = []
        self.is_ringing = False
        self.has_said_bye = False
        self.closed = []
        self.ended = asyncio.Event()
        self.exit_code = 0
        self.lock = asyncio.Lock()
        self.tasks = set()
        self.has_called = False
        self.client = None
        self.peers = set()

    # The stream.

    def make_client(self):
        client = ClientXMPP(self.options.jid, self.options.password)
        context = ssl.create_default_context()
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        client.ssl_context = context
        client.get_ssl_context = lambda: context
        client.auto_authorize = True
        client.auto_subscribe = True
        client.add_event_handler("session_start", self.on_session)
        client.add_event_handler("message", self.on_message)
        client.add_event_handler("presence_available", self.on_available)
        client.add_event_handler("presence_unavailable", lambda presence: self.peers.discard(str(presence["from"])))
        client.add_event_handler("failed_all_auth", self.on_refused)
        client.add_event_handler("disconnected", self.on_disconnected)
        return client

    def connect(self):
        self.client = self.make_client()
        host, port = self.options.server.rsplit(":", 1)
        self.client.connect(host, int(port))

    def spawn(self, work):
        task = asyncio.ensure_future(work)
        self.tasks.add(task)
        task.add_done_callback(self.tasks.discard)

    def on_session(self, event):
        self.client.send_presence(ppriority=self.options.priority)
        self.client.send_presence_subscription(self.options.peer)
        report(event="online", jid=str(self.client.boundjid))

    def on_refused(self, event):
        self.exit_code = 3
        self.ended.set()

    def on_disconnected(self, event):
        self.peers.clear()
        if self.ended.is_set():
            return
        report(event="offline")
        self.spawn(self.come_back())

    async def come_back(self):
        await asyncio.sleep(0.5)
        if not self.ended.is_set():
            self.connect()

    # Calls.

    def say(self, message):
        stanza = self.client.make_message(mto=self.remote, mbody=json.dumps(message), mtype="chat")
        stanza.send()

    def describe(self, description):
        """The description without its candidates, and each of them, as phones send them."""
        lines, candidates, index, mid = [], [], -1, "0"
        for line in description["sdp"].splitlines():
            if line.startswith("m="):
                index += 1
            if line.startswith("a=mid:"):
                mid = line[len("a=mid:"):]
            if line.startswith("a=candidate:"):
                candidates.append((index, line[len("a="):]))
            elif line != "a=end-of-candidates":
                lines.append(line)
        mids = re.findall(r"(?m)^a=mid:(\S+)", description["sdp"])
        self.say({"type": description["type"], "sdp": "\r\n".join(lines) + "\r\n"})
        for index, candidate in candidates:
            self.say({"type": "candidate", "label": index, "id": mids[index] if index < len(mids) else mid,
                      "sdp": candidate})

    def on_available(self, presence):
        jid = presence["from"]
        if jid.bare == self.options.peer and jid.resource:
            self.peers.add(str(jid))
            report(event="seen", jid=str(jid))
            if self.options.call and not self.has_called:
                self.spawn(self.call())

    async def call(self):
        async with self.lock:
            if self.connection or not self.peers:
                return
            self.has_called, self.has_said_bye = True, False
            self.remote = sorted(self.peers)[0]
            self.connection = Connection(self.options)
            self.say({"roomId": str(random.randrange(100_000, 10_000_000_000))})
            self.describe(await self.connection.offer())

    def on_message(self, stanza):
        if stanza["type"] == "error":
            report(event="error", condition=stanza["error"]["condition"])
            return
        self.spawn(self.take(str(stanza["from"]), stanza["body"]))

    async def take(self, sender, body):
        async with self.lock:
            try:
                message = json.loads(body)
            except ValueError:
                report(event="message", body=body)
                return
            if not isinstance(message, dict):
                report(event="crash", body=body)
                self.exit_code = 4
                self.ended.set()
            elif "roomId" in message:
                self.remote, self.is_ringing, self.has_said_bye = sender, True, False
                report(event="ringing", sender=sender)
                self.spawn(self.accept_later())
            elif "type" in message or "sdp" in message:
                self.remote = sender
                await self.signal(message)

    async def accept_later(self):
        await asyncio.sleep(self.options.accept_after)
        async with self.lock:
            if not self.is_ringing:
                return
            self.is_ringing = False
            self.connection = Connection(self.options)
            queue, self.queue = self.queue, []
            for message in queue:
                await self.apply(message)

    async def signal(self, message):
        kind = message.get("type")
        if kind == "bye":
            report(event="bye", had_call=self.connection is not None or self.is_ringing)
            await self.end_call()
        elif self.is_ringing or self.connection is None:
            # A description goes in front of what is there.
            self.queue.insert(0 if kind in ("offer", "answer") else len(self.queue), message)
        else:
            await self.apply(message)

    async def apply(self, message):
        kind = message.get("type")
        if kind == "offer":
            self.describe(await self.connection.answer(message))
        elif kind == "answer":
            await self.connection.take_answer(message)
        elif kind == "candidate":
            if not message.get("sdp"):
                raise ValueError("a candidate without a line ends the app")
            await self.connection.take_candidate(message)

    async def hang_up(self):
        async with self.lock:
            await self.end_call()

    async def end_call(self):
        had_call = self.connection is not None or self.is_ringing
        connection, self.connection, self.is_ringing = self.connection, None, False
        if had_call and not self.has_said_bye:
            self.has_said_bye = True
            self.say({"type": "bye"})
        if connection:
            self.closed.append(await connection.close())

    # The run.

    async def watch_duration(self):
        while not (self.connection and self.connection.figures["connected"]):
            await asyncio.sleep(0.05)
        await asyncio.sleep(self.options.duration)
        self.ended.set()

    async def obey(self):
        loop = asyncio.get_running_loop()
        reader = asyncio.StreamReader()
        await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
        while line := await reader.readline():
            order = json.loads(line)
            if "say" in order:
                self.client.make_message(mto=order["to"], mbody=order["say"], mtype="chat").send()
            elif "raw" in order:
                self.client.send_raw(order["raw"])
            elif "call" in order:
                self.spawn(self.call())
            elif "hang_up" in order:
                self.spawn(self.hang_up())

    async def run(self):
        loop = asyncio.get_running_loop()
        for name in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(name, self.ended.set)
        self.connect()
        watches = [asyncio.create_task(self.obey())]
        if self.options.duration:
            watches.append(asyncio.create_task(self.watch_duration()))
        with contextlib.suppress(asyncio.TimeoutError):
            await asyncio.wait_for(self.ended.wait(), self.options.limit)
        self.ended.set()
        for watch in watches:
            watch.cancel()
        async with self.lock:
            await self.end_call()
        with contextlib.suppress(Exception):
            await asyncio.wait_for(self.client.disconnect(), 2)
        connected = [figures for figures in self.closed if figures["connected"]]
        report(event="end", at=time.time(), connections=len(connected))
        return self.exit_code or (0 if connected else 1)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--jid", required=True)
    parser.add_argument("--password", required=True)
    parser.add_argument("--server", required=True, help="HOST:PORT")
    parser.add_argument("--peer", required=True, help="the account of the contact list that is called")
    parser.add_argument("--priority", type=int, default=5)
    parser.add_argument("--call", action="store_true", help="call the peer once it is online")
    parser.add_argument("--accept-after", type=float, default=0, help="seconds until a call is accepted")
    options = parse(parser)

    async def run():
        return await Peer(options).run()

    run_to_the_end(run())


if __name__ == "__main__":
    main()
