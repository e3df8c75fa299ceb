#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The other side of a bare TCP call, on aiortc: --listen answers one call, --dial offers one.

As the known app it reads an object only if every value is a string, takes a label only as a decimal string, drops a
packet that is not ASCII, sends exactly one candidate, and never says that it hangs up. A message that breaks these
rules is reported as a violation. Prints the JSON objects of aiortc_peer.py, listening (port) and refused (a second
connection).

Exit codes: 0 was connected, 1 never connected, 4 the other side broke a rule.

Example: .venv/peers/bin/python Tests/Peers/lan_peer.py --listen 0 --send synthetic --receive
"""

import argparse
import asyncio
import contextlib
import json
import signal

import aiortc_peer
from aiortc_peer import Connection, report, run_to_the_end


class Caller:
    """One call over one TCP connection."""

    def __init__(self, options):
        self.options = options
        self.connection = Connection(options)
        self.ended = asyncio.Event()
        self.talked = asyncio.Event()
        self.violations = 0
        self.writer = None

    def send(self, **message):
        assert all(isinstance(value, str) for value in message.values())
        self.writer.write(json.dumps(message).encode() + b"|")

    def send_one_candidate(self):
        """The first of our candidates; the description holds all of them."""
        lines = self.connection.pc.localDescription.sdp.splitlines()
        line = next(line[2:] for line in lines if line.startswith("a=candidate:"))
        self.send(event="candidate", sdp=line, label="0", id=self.connection.pc.getTransceivers()[0].mid)

    def violation(self, what, packet):
        self.violations += 1
        report(event="violation", what=what, packet=repr(packet[:200]))

    async def talk(self, reader, writer):
        self.writer = writer
        if self.options.dial:
            self.send(event="offer", sdp=(await self.connection.offer())["sdp"])
        buffer = b""
        while packet := await reader.read(65536):
            if not packet.isascii():
                self.violation("a packet is not ASCII", packet)
            buffer += packet
            *messages, buffer = buffer.split(b"|")
            for text in messages:
                await self.take(text)
        if buffer:
            self.violation("a message without an end", buffer)

    async def take(self, text):
        try:
            message = json.loads(text)
        except ValueError:
            return self.violation("not JSON", text)
        if not (isinstance(message, dict) and all(isinstance(value, str) for value in message.values())):
            return self.violation("a value is not a string", text)
        event = message.get("event")
        expected = {"answer", "candidate"} if self.options.dial else {"offer", "candidate"}
        if event not in expected:
            return self.violation("an event that we do not take", text)
        if event == "offer":
            self.send(event="answer", sdp=(await self.connection.answer(message))["sdp"])
            self.send_one_candidate()
        elif event == "answer":
            await self.connection.take_answer(message)
            self.send_one_candidate()
        elif not message.get("label", "").isdecimal() or not message.get("sdp") or "id" not in message:
            return self.violation("a candidate without label, line or id", text)
        else:
            await self.connection.take_candidate(message)
        return None

    async def serve(self, reader, writer):
        if self.writer:
            report(event="refused")
            writer.close()
            return
        report(event="joined")
        task = asyncio.create_task(self.talk(reader, writer))
        watch = asyncio.create_task(self.watch())
        ended = asyncio.create_task(self.ended.wait())
        await asyncio.wait({ended, watch}, return_when=asyncio.FIRST_COMPLETED)
        self.ended.set()
        for left in (task, watch, ended):
            left.cancel()
        results = await asyncio.gather(task, watch, ended, return_exceptions=True)
        for result in results:
            if isinstance(result, Exception):
                self.violation(repr(result), b"")
        writer.close()

    async def watch(self):
        """Hangs up the TCP connection in the middle of the call, if asked to, and ends after the duration."""
        while not self.connection.figures["connected"]:
            await asyncio.sleep(0.05)
        if self.options.hang_up_after:
            await asyncio.sleep(self.options.hang_up_after)
            self.writer.close()
            report(event="hungUp")
        if not self.options.duration:
            await self.ended.wait()
        await asyncio.sleep(self.options.duration - self.options.hang_up_after)

    async def dial(self):
        host, port = self.options.dial.rsplit(":", 1)
        while not self.ended.is_set():
            with contextlib.suppress(OSError):
                await self.serve(*await asyncio.open_connection(host, int(port)))
                return
            await asyncio.sleep(0.1)

    async def run(self):
        loop = asyncio.get_running_loop()
        for name in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(name, self.ended.set)
        server = None
        if self.options.dial:
            call = asyncio.create_task(self.dial())
        else:
            server = await asyncio.start_server(self.serve, "127.0.0.1", self.options.listen)
            report(event="listening", port=server.sockets[0].getsockname()[1])
            call = asyncio.create_task(self.ended.wait())
        with contextlib.suppress(asyncio.TimeoutError):
            await asyncio.wait_for(call, self.options.limit)
        self.ended.set()
        if server:
            server.close()
        figures = await self.connection.close()
        report(event="end", violations=self.violations)
        return 4 if self.violations else 0 if figures["connected"] else 1


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    way = parser.add_mutually_exclusive_group(required=True)
    way.add_argument("--dial", metavar="HOST:PORT")
    way.add_argument("--listen", type=int, metavar="PORT", help="0 takes a free one")
    parser.add_argument("--hang-up-after", type=float, default=0,
                        help="close TCP so many seconds after the connection; media go on")
    options = aiortc_peer.parse(parser)

    async def run():
        return await Caller(options).run()

    run_to_the_end(run())


if __name__ == "__main__":
    main()
