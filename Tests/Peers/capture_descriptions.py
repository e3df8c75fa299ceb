#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Captures the offers and answers of a program as fixtures for Tests/SDPTests.

  capture_descriptions.py firefox|plan-b|janus FOLDER

firefox  Debian's firefox-esr, headless.
plan-b   libwebrtc with Plan B: QtWebEngine 5.15, by Debian's python3-pyqt5.qtwebengine.
janus    Debian's janus: VideoRoom, EchoTest and Streaming through its HTTP interface, with aiortc as publisher;
         needs .venv/peers.

Answers are to real offers of Tapedeck, Tests/SDPTests/Fixtures/tapedeck-*.sdp (a test holds NegotiationState to them).
Addresses of this machine become 192.0.2.2 and 2001:db8::2; everything else stays as captured. Prints the program's
version, the files, and what failed. By hand only, not in CI.
"""

import argparse
import asyncio
import contextlib
import functools
import http.server
import itertools
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import urllib.request

HERE = pathlib.Path(__file__).resolve().parent
FIXTURES = HERE.parent / "SDPTests" / "Fixtures"
LIMIT = 120
FIREFOX_PREFERENCES = {
    "browser.shell.checkDefaultBrowser": False, "datareporting.policy.dataSubmissionEnabled": False,
    "media.autoplay.default": 0, "media.peerconnection.ice.obfuscate_host_addresses": False,
    "media.gmp-manager.updateEnabled": False, "app.update.auto": False,
}


def own_addresses():
    listed = json.loads(subprocess.run(["ip", "-json", "address"], capture_output=True, check=True).stdout)
    found = [each["local"] for link in listed for each in link["addr_info"] if each["scope"] != "host"]
    return sorted(found, key=len, reverse=True)


def save(folder, name, text):
    for address in own_addresses():
        text = re.sub(rf"(?<![\w.:]){re.escape(address)}(?![\w.:])",
                      "2001:db8::2" if ":" in address else "192.0.2.2", text)
    (folder / f"{name}.sdp").write_bytes(text.encode())
    print(f"{name}.sdp", flush=True)


class Handler(http.server.SimpleHTTPRequestHandler):
    """Serves the page and the offers of Tapedeck, and takes what the page posts."""

    def __init__(self, *arguments, out, done, **options):
        self.out, self.done = out, done
        super().__init__(*arguments, **options)

    def log_message(self, *arguments):
        pass

    def translate_path(self, path):
        name = pathlib.PurePosixPath(path.partition("?")[0]).name
        return str((FIXTURES if name.endswith(".sdp") else HERE / "capture") / name)

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"])).decode()
        if self.path.startswith("/save/"):
            save(self.out, pathlib.PurePosixPath(self.path).name, body)
        else:
            print(f"{self.path[1:]}: {body}", flush=True)
        self.send_response(204)
        self.end_headers()
        if self.path == "/done":
            self.done.set()


@contextlib.contextmanager
def page(folder, peer):
    done = threading.Event()
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Handler, out=folder, done=done))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}/page.html?peer={peer}", done
    finally:
        server.shutdown()
        server.server_close()


def capture_browser(folder, peer, start):
    """Starts a browser with the page; `start(url, scratch)` gives its command and environment."""
    with tempfile.TemporaryDirectory() as scratch, page(folder, peer) as (url, done):
        command, environment = start(url, pathlib.Path(scratch))
        browser = subprocess.Popen(command, env={**os.environ, "HOME": scratch, **environment},
                                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            if not done.wait(LIMIT):
                sys.exit(f"{peer} did not finish in {LIMIT} s")
        finally:
            browser.terminate()
            browser.wait(10)


def start_firefox(url, scratch):
    lines = [f"user_pref({json.dumps(name)}, {json.dumps(value)});\n" for name, value in FIREFOX_PREFERENCES.items()]
    (scratch / "user.js").write_text("".join(lines))
    return ["firefox-esr", "--headless", "--no-remote", "--profile", str(scratch), url], {}


def start_plan_b(url, scratch):
    program = ("import sys; from PyQt5 import QtCore, QtWebEngineWidgets as w, QtWidgets as q; "
               "app = q.QApplication(sys.argv); page = w.QWebEnginePage(); "
               "page.load(QtCore.QUrl(sys.argv[1])); app.exec()")
    flags = "--no-sandbox --autoplay-policy=no-user-gesture-required --disable-gpu"
    environment = {"QT_QPA_PLATFORM": "offscreen", "QTWEBENGINE_CHROMIUM_FLAGS": flags,
                   "QTWEBENGINE_DISABLE_SANDBOX": "1", "XDG_RUNTIME_DIR": str(scratch)}
    return ["/usr/bin/python3", "-c", program, url], environment


class Janus:
    """A Janus of our own on loopback, with its HTTP interface."""

    PORT = 18088

    def __init__(self, scratch):
        self.base = f"http://127.0.0.1:{self.PORT}/janus"
        self.transactions = itertools.count()
        shutil.copytree("/etc/janus", scratch / "janus")
        (scratch / "janus" / "janus.transport.http.jcfg").write_text(
            f'general: {{ json = "plain"\n base_path = "/janus"\n http = true\n port = {self.PORT}\n'
            ' ip = "127.0.0.1" }\n')
        self.process = subprocess.Popen(["janus", "-F", str(scratch / "janus")], stdout=subprocess.DEVNULL,
                                        stderr=subprocess.DEVNULL)

    async def request(self, path="", **body):
        def send():
            data = json.dumps({**body, "transaction": str(next(self.transactions))}).encode() if body else None
            with urllib.request.urlopen(urllib.request.Request(self.base + path, data), timeout=35) as answer:
                return json.load(answer)
        return await asyncio.to_thread(send)

    async def is_up(self):
        for _ in range(50):
            with contextlib.suppress(OSError):
                return (await self.request("/info"))["version_string"]
            await asyncio.sleep(0.2)
        sys.exit("janus does not start")

    async def attach(self, plugin):
        """A handle in a separate session, whose events then come alone."""
        session = f"/{(await self.request(janus='create'))['data']['id']}"
        handle = (await self.request(session, janus="attach", plugin=f"janus.plugin.{plugin}"))["data"]["id"]

        async def message(jsep=None, **body):
            reply = await self.request(f"{session}/{handle}", janus="message", body=body,
                                       **({"jsep": {"type": jsep.type, "sdp": jsep.sdp}} if jsep else {}))
            while reply["janus"] not in ("event", "success"):
                reply = await self.request(f"{session}?maxev=1")
            data = reply["plugindata"]["data"]
            if "error" in data:
                raise RuntimeError(f"{body}: {data}")
            return data, reply.get("jsep")
        return message


async def capture_janus(folder):
    from aiortc import RTCPeerConnection, RTCSessionDescription
    from aiortc.mediastreams import AudioStreamTrack, VideoStreamTrack

    connections = []
    ours = RTCSessionDescription((FIXTURES / "tapedeck-sendrecv.sdp").read_text(), "offer")

    def keep(name, jsep):
        save(folder, f"{name}.{jsep['type']}", jsep["sdp"])

    async def publish(display):
        """A member that sends audio and video; its feed."""
        message = await janus.attach("videoroom")
        data, _ = await message(request="join", ptype="publisher", room=1234, display=display)
        connections.append(pc := RTCPeerConnection())
        pc.addTrack(AudioStreamTrack())
        pc.addTrack(VideoStreamTrack())
        await pc.setLocalDescription(await pc.createOffer())
        _, jsep = await message(pc.localDescription, request="configure")
        await pc.setRemoteDescription(RTCSessionDescription(jsep["sdp"], jsep["type"]))
        while pc.connectionState != "connected":
            await asyncio.sleep(0.1)
        return data["id"]

    async def take(message, jsep):
        """Answers an offer of Janus as aiortc."""
        connections.append(pc := RTCPeerConnection())
        await pc.setRemoteDescription(RTCSessionDescription(jsep["sdp"], jsep["type"]))
        await pc.setLocalDescription(await pc.createAnswer())
        await message(pc.localDescription, request="start")
        return pc

    with tempfile.TemporaryDirectory() as scratch:
        janus = Janus(pathlib.Path(scratch))
        try:
            print(f"janus {await janus.is_up()}", flush=True)
            echo = await janus.attach("echotest")
            keep("janus-echotest-to-sendrecv", (await echo(ours, audio=True, video=True))[1])
            for room, codec in ((9001, "vp8"), (9002, "h264")):
                publisher = await janus.attach("videoroom")
                await publisher(request="create", room=room, videocodec=codec)
                await publisher(request="join", ptype="publisher", room=room)
                _, jsep = await publisher(ours, request="configure")
                keep(f"janus-videoroom-{codec}-to-sendrecv", jsep)

            feeds = [await publish("Alice"), await publish("Bob")]
            subscriber = await janus.attach("videoroom")
            _, jsep = await subscriber(request="join", ptype="subscriber", room=1234, streams=[{"feed": feeds[0]}])
            keep("janus-videoroom-1-one-feed", jsep)
            pc = await take(subscriber, jsep)

            async def again(name, **body):
                _, jsep = await subscriber(**body)
                keep(name, jsep)
                await pc.setRemoteDescription(RTCSessionDescription(jsep["sdp"], jsep["type"]))
                await pc.setLocalDescription(await pc.createAnswer())
                await subscriber(pc.localDescription, request="start")

            await again("janus-videoroom-2-two-feeds", request="subscribe", streams=[{"feed": feeds[1]}])
            await again("janus-videoroom-3-first-feed-gone", request="unsubscribe", streams=[{"feed": feeds[0]}])
            await again("janus-videoroom-4-first-feed-back", request="subscribe", streams=[{"feed": feeds[0]}])

            streaming = await janus.attach("streaming")
            await streaming(request="create", type="rtp", id=99, media=[
                {"type": "audio", "mid": "a", "port": 0, "pt": 111, "codec": "opus"},
                {"type": "video", "mid": "v", "port": 0, "pt": 100, "codec": "vp8"}])
            _, jsep = await streaming(request="watch", id=99)
            keep("janus-streaming", jsep)
        finally:
            for each in connections:
                await each.close()
            janus.process.terminate()
            janus.process.wait(10)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", choices=("firefox", "plan-b", "janus"))
    parser.add_argument("folder", type=pathlib.Path, help="where the files go")
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    if options.program == "janus":
        asyncio.run(capture_janus(options.folder))
    else:
        name, start = {"firefox": ("firefox", start_firefox),
                       "plan-b": ("libwebrtc-plan-b", start_plan_b)}[options.program]
        capture_browser(options.folder, name, start)


if __name__ == "__main__":
    main()
