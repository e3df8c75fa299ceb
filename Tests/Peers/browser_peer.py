#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A member of a Socket.IO room in headless Chromium, with fake camera and microphone.

Serves its own small page (Tests/Peers/page) on loopback and prints one JSON object a line: joined, connected, closed
(figures of one connection from getStats), end (figures of all). Reads commands from a pipe on standard input, one a
line: `stats` prints the figures so far, `silence` stops sending for good and prints `silent`, `restart` restarts ICE,
`leave` ends, and `add media`, `add screen`, `remove screen`, `stop screen`, `remove camera`, `stop camera` and
`replace camera` change the call and print `changed`, as do `other receiver`, `stop receiver` and `add receiver`, which
have the camera that is received come on another m-line; `set scale 2`, `set camera off`, `set microphone on` and
`set codec h264` change its media and print `set`. `add channel` opens a data channel in the call, `write TEXT` writes
into it and prints `wrote`. Leaves the room and ends on SIGTERM, after --duration seconds of the first connection, or
after --limit seconds.

With --skyrtc it is a member of a SkyRTC room instead, by the same commands.

With --page it opens the page of `tapedeck serve` instead (which always sends and receives), and figures are those of
the last look, taken four times a second.

Exit codes: 0 was connected, 1 never connected, 3 could not join.

Example: .venv/peers/bin/python Tests/Peers/browser_peer.py --url http://127.0.0.1:3000 --room 123123 --send
"""

import argparse
import asyncio
import contextlib
import functools
import http.server
import json
import os
import pathlib
import signal
import stat
import sys
import threading
import time
import urllib.parse

from playwright.async_api import Error, async_playwright

FLAGS = [
    "--use-fake-device-for-media-stream=fps=30",
    "--no-sandbox",
    "--autoplay-policy=no-user-gesture-required",
    "--allow-loopback-in-peer-connection",
    "--disable-background-timer-throttling",
]
# A page that may use a camera gets the host's addresses, too.
SHOWN_TO_ALL = ["--use-fake-ui-for-media-stream", "--disable-features=WebRtcHideLocalIpsWithMdns"]
# No wait is this long except for a browser that hangs.
WAIT = 90
# Longer than any test: nothing of a test that was killed stays.
LIMIT = 900
PAGE_FOLDER = pathlib.Path(__file__).resolve().parent / "page"
LOOK_AT_SERVED_PAGE = """async () => Object.fromEntries(await Promise.all([...tapedeckRoom.peers].map(
    async ([member, pc]) => [member, { connected: pc.connectionState === "connected", ...await figures(pc) }])))"""
SILENCE_SERVED_PAGE = """async () => Promise.all([...tapedeckRoom.peers.values()].flatMap(
    (pc) => pc.getSenders().map((sender) => sender.replaceTrack(null))))"""
SUMS = ("framesSent", "audioPacketsSent", "framesReceived", "framesDecoded", "audioPacketsReceived")


def report(facts):
    print(json.dumps(facts), flush=True)


class PageHandler(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *arguments):
        pass


@contextlib.contextmanager
def page_server():
    handler = functools.partial(PageHandler, directory=str(PAGE_FOLDER))
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}/index.html"
    finally:
        server.shutdown()
        server.server_close()


class BrowserPeer:
    def __init__(self, options):
        self.options = options
        self.ended = asyncio.Event()
        self.connected = asyncio.Event()
        self.closed = []
        self.exit_code = 0

    def on_report(self, facts):
        event = facts.get("event")
        report(facts)
        if event == "connected":
            self.connected.set()
        elif event == "closed":
            self.closed.append(facts)
        elif event == "full" or (event == "disconnected" and not self.ended.is_set()):
            self.exit_code = 3
            self.ended.set()

    async def read_commands(self, page):
        if not stat.S_ISFIFO(os.fstat(sys.stdin.fileno()).st_mode):
            return
        reader = asyncio.StreamReader()
        await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
        while line := await reader.readline():
            command = line.strip()
            if command == b"stats":
                figures = await page.evaluate(self.looker)
                report({"event": "stats", "connections": list(figures.values()) if self.options.page else figures})
            elif command == b"silence":
                await page.evaluate(SILENCE_SERVED_PAGE if self.options.page else "stopSending()")
                report({"event": "silent"})
            elif command == b"restart":
                await page.evaluate("restartAll()")
                report({"event": "restarting", "at": time.time()})
            elif command == b"leave":
                self.ended.set()
            elif command.startswith(b"write "):
                await page.evaluate("text => write(text)", command.decode().removeprefix("write "))
            elif command.startswith(b"set "):
                await page.evaluate("given => set(...given)", command.decode().split()[1:])
            elif command:
                name = command.decode()
                await page.evaluate("([name, stops]) => change(name, stops)",
                                    [name.replace("stop ", "remove "), name.startswith("stop ")])

    async def watch_duration(self):
        await self.connected.wait()
        if self.options.duration:
            await asyncio.sleep(self.options.duration)
            self.ended.set()

    async def use_own_page(self, page, stack):
        await page.expose_function("report", self.on_report)
        await page.goto(stack.enter_context(page_server()))
        await page.evaluate("given => startPeer(given)", self.page_options())

    async def use_served_page(self, page):
        # Playwright gives the script a separate scope.
        script = (PAGE_FOLDER / "figures.js").read_text()
        await page.add_init_script(script=f"{script}\nwindow.figures = figures;")
        query = urllib.parse.urlencode({"room": self.options.room, "autojoin": "1", "name": self.options.name})
        await page.goto(f"{self.options.page}?{query}")
        await page.wait_for_function("() => ['joined', 'full', 'error'].includes(tapedeckRoom.state)",
                                     timeout=WAIT * 1000)
        state = await page.evaluate("() => tapedeckRoom.state")
        self.on_report({"event": state, "room": self.options.room})

    async def watch_served_page(self, page):
        """Reports facts that the served page does not report."""
        last = {}
        try:
            while True:
                now = await page.evaluate(LOOK_AT_SERVED_PAGE)
                for member, figures in now.items():
                    if figures["connected"] and not last.get(member, {}).get("connected"):
                        self.on_report({"event": "connected", "member": member, "at": time.time()})
                for member in last.keys() - now.keys():
                    self.on_report({"event": "closed", "member": member, "at": time.time(), **last[member]})
                last = now
                await asyncio.sleep(0.25)
        finally:
            for member, figures in last.items():
                self.on_report({"event": "closed", "member": member, "at": time.time(), **figures})

    @property
    def looker(self):
        return LOOK_AT_SERVED_PAGE if self.options.page else "allFigures()"

    async def leave(self, page):
        if self.options.page:
            await page.click("#leave")
        else:
            await page.evaluate("() => leavePeer()")

    async def run(self):
        loop = asyncio.get_running_loop()
        for name in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(name, self.ended.set)
        flags = FLAGS + ([] if self.options.mdns else SHOWN_TO_ALL)
        async with contextlib.AsyncExitStack() as stack:
            playwright = await stack.enter_async_context(async_playwright())
            browser = await playwright.chromium.launch(
                executable_path=self.options.chromium, args=flags, timeout=WAIT * 1000,
                handle_sigint=False, handle_sigterm=False, handle_sighup=False)
            stack.push_async_callback(browser.close)
            context = await browser.new_context()
            if not self.options.mdns:
                await context.grant_permissions(["camera", "microphone"])
            page = await context.new_page()
            page.set_default_timeout(WAIT * 1000)
            page.on("pageerror", lambda error: report({"event": "error", "reason": str(error)}))
            try:
                await (self.use_served_page(page) if self.options.page else self.use_own_page(page, stack))
            except Error as error:
                report({"event": "unreachable", "reason": str(error).splitlines()[0]})
                return 3
            tasks = [asyncio.create_task(self.read_commands(page)), asyncio.create_task(self.watch_duration())]
            if self.options.page:
                tasks.append(asyncio.create_task(self.watch_served_page(page)))
            with contextlib.suppress(asyncio.TimeoutError):
                await asyncio.wait_for(self.ended.wait(), self.options.limit)
            self.ended.set()
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            with contextlib.suppress(asyncio.TimeoutError, Error):
                await asyncio.wait_for(self.leave(page), WAIT)
        connections = [figures for figures in self.closed if figures.get("connected")]
        report({"event": "end", "connections": len(connections),
                **{name: sum(figures.get(name) or 0 for figures in self.closed) for name in SUMS}})
        return self.exit_code or (0 if connections else 1)

    def page_options(self):
        options = self.options
        return {
            "url": options.url or options.skyrtc, "sky": options.skyrtc is not None, "room": options.room,
            "eio": options.eio, "transport": options.transport, "send": options.send, "receive": options.receive,
            "codec": options.codec, "prefer": options.prefer,
            "size": [int(part) for part in options.size.split("x")], "fps": options.fps,
            "alterFingerprint": options.alter_fingerprint, "muteCycle": options.mute_cycle,
            "resize": options.resize, "holdCycle": options.hold_cycle, "dataFirst": options.data_first,
            "painted": options.mdns, "channel": options.channel, "refuseVideo": options.refuse_video,
            "spatial": options.spatial, "stereo": options.stereo,
            "layers": [[name, float(scale)] for name, scale in (layer.split("=") for layer in options.layers)],
        }


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    where = parser.add_mutually_exclusive_group(required=True)
    where.add_argument("--url", help="of the Socket.IO server, http://HOST:PORT")
    where.add_argument("--skyrtc", metavar="URL", help="of the SkyRTC server, ws://HOST:PORT/PATH")
    where.add_argument("--page", help="of `tapedeck serve`, http://HOST:PORT/")
    parser.add_argument("--name", default="Chromium", help="shown by the page of `tapedeck serve`")
    parser.add_argument("--room", required=True)
    parser.add_argument("--eio", type=int, choices=(3, 4), default=4)
    parser.add_argument("--transport", choices=("polling", "websocket"), default="websocket")
    parser.add_argument("--send", action="store_true", help="the fake camera and microphone")
    parser.add_argument("--receive", action="store_true")
    parser.add_argument("--codec", choices=("vp8", "vp9", "h264"), help="the only video codec to negotiate")
    parser.add_argument("--prefer", choices=("vp8", "vp9", "h264"), help="the video codec to name first")
    parser.add_argument("--size", default="640x480")
    parser.add_argument("--fps", type=int, default=30)
    parser.add_argument("--layers", nargs="+", default=[], metavar="RID=SCALE",
                        help="send the camera in several layers, each smaller by its scale")
    parser.add_argument("--spatial", type=int, default=0, metavar="COUNT",
                        help="send the camera in so many spatial layers, with --codec vp9")
    parser.add_argument("--stereo", action="store_true", help="send a tone of 440 Hz on the left, and one of 1760 Hz on the right")
    parser.add_argument("--duration", type=float, default=0, help="seconds from the first connection; 0: until SIGTERM")
    parser.add_argument("--limit", type=float, default=LIMIT, help="seconds until it ends in any case")
    parser.add_argument("--alter-fingerprint", action="store_true", help="describe a certificate that is not ours")
    parser.add_argument("--mute-cycle", type=float, default=0, help="mute and unmute every so many seconds")
    parser.add_argument("--resize", type=float, default=0, help="halve and restore the picture every so many seconds")
    parser.add_argument("--hold-cycle", type=float, default=0, help="inactive and back every so many seconds")
    parser.add_argument("--data-first", action="store_true", help="offer a data channel only, until `add media`")
    parser.add_argument("--channel", action="store_true", help="open a data channel beside the media")
    parser.add_argument("--refuse-video", action="store_true", help="answer a first offer that no video is wanted")
    parser.add_argument("--mdns", action="store_true",
                        help="hide addresses behind .local names, and paint pictures: who may use a camera hides none")
    parser.add_argument("--chromium", default="/usr/bin/chromium")
    options = parser.parse_args()
    if not (options.page or options.send or options.receive):
        parser.error("nothing to do: give --send, --receive, both, or --page")

    async def run():
        return await BrowserPeer(options).run()

    sys.exit(asyncio.run(run()))


if __name__ == "__main__":
    main()
