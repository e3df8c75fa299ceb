#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the screenshots of the dashboard in docs/screenshots, from a daemon with a call of three.

One of its recordings has a gap, because its worker was killed; of its webhooks one accepts deliveries, one is down, and
one is gone for good.

Example: .venv/peers/bin/python Tests/EndToEnd/dashboard_screenshots.py --seconds 60
"""

import argparse
import os
import pathlib
import re
import signal
import tempfile

from daemon import Daemon
from dashboard import DESKTOP, PHONE, Dashboard, chromium
from peers import room_url
from stage import PEERS, ROOT, Stage, python

SECRET = "of-the-screenshots"


def start_sink(stage, status):
    sink = stage.start("sink", python("socketio5"), PEERS / "webhook_sink.py", "--secret", SECRET, "--status", status)
    return sink.wait_for_event("listening")["port"]


def start_scene(stage):
    server = stage.serve("--room-size", "3")
    targets = [(start_sink(stage, "204"), ["recording.*", "export.*"]), (9, ["recording.finished"]),
               (start_sink(stage, "410"), ["recording.finished"])]
    webhooks = [{"url": f"http://127.0.0.1:{port}/hook", "secret": SECRET, "events": events}
                for port, events in targets]
    daemon = Daemon(stage, {
        "all-hands": {"url": room_url(server, "all-hands"), "record": {"empty_after": "2s"}},
        "branch-office": {"url": "socketio+http://127.0.0.1:9/branch"},
        "retro": {"url": room_url(server, "retro"), "record": {"empty_after": "2s"}},
        "standup": {"url": room_url(server, "standup"), "join": "on-demand"},
    }, webhooks=webhooks)
    for name in ("all-hands", "retro"):
        daemon.wait_for_phase(name, "joined")
    for count, seconds in enumerate((15, 6), start=1):
        stage.tapedeck("camera", room_url(server, "retro"), "--duration", f"{seconds}s", "--size", "640x360", "--json")
        if count == 1:
            daemon.wait_for_recording("retro")
            os.kill(daemon.worker("retro"), signal.SIGKILL)
        daemon.wait_for_export("retro", count=count, timeout=60)
    stage.aiortc(server, "all-hands", "--send", "synthetic", "--limit", "600")
    stage.tapedeck("camera", room_url(server, "all-hands"), "--duration", "600s", "--size", "640x360", "--json")
    daemon.wait_for_recording("all-hands")
    return daemon


def show(page, part):
    """Puts a part of the page at its top, as far as it goes."""
    part.evaluate("element => element.scrollIntoView({ block: 'start' })")
    page.evaluate("document.activeElement.blur()")
    page.wait_for_timeout(500)


def take(browser, daemon, folder, name, viewport, scheme, seconds):
    dashboard = Dashboard(browser, daemon.url, viewport, scheme)
    page = dashboard.open()
    if viewport == PHONE:
        # Screenshots show the visible part of the page.
        page.get_by_role("searchbox", name="Filter rooms").fill("all-hands")
        page.evaluate("document.activeElement.blur()")
    page.locator(".still img:visible").nth(1).wait_for(timeout=30_000)
    page.wait_for_timeout(seconds * 1000)
    page.screenshot(path=folder / f"rooms-{name}.png")
    if viewport == PHONE:
        page.get_by_role("searchbox", name="Filter rooms").fill("")
    webhooks = page.get_by_role("region", name="Webhooks")
    webhooks.get_by_text("Tries again").wait_for()
    webhooks.get_by_role("list", name="Failed for good").wait_for()
    show(page, webhooks)
    page.screenshot(path=folder / f"webhooks-{name}.png")
    page.get_by_role("link", name="Recordings").click()
    page.get_by_role("button", name="Play").last.click()
    page.wait_for_function("() => document.querySelector('video')?.currentTime > 1")
    page.screenshot(path=folder / f"recording-{name}.png")
    certificate = page.get_by_role("region", name="Certificate")
    certificate.get_by_text(re.compile("SHA-256")).click()
    show(page, certificate)
    page.screenshot(path=folder / f"certificate-{name}.png")
    dashboard.close()
    assert dashboard.errors == [], dashboard.errors


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=int, default=75, help="how long the curves are")
    parser.add_argument("--folder", type=pathlib.Path, default=ROOT / "docs" / "screenshots")
    parser.add_argument("--tapedeck", default=os.environ.get("TAPEDECK", str(ROOT / ".build" / "debug" / "tapedeck")))
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        stage = Stage(folder, options.tapedeck)
        try:
            daemon = start_scene(stage)
            with chromium() as browser:
                for name, viewport, scheme in (("light", DESKTOP, "light"), ("dark", DESKTOP, "dark"),
                                               ("phone", PHONE, "light")):
                    take(browser, daemon, options.folder, name, viewport, scheme, options.seconds)
        finally:
            print("\n".join(stage.finish()) or f"pictures are in {options.folder}")


if __name__ == "__main__":
    main()
