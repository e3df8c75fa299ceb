#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the screenshots of the dashboard in docs/screenshots, from a daemon with a call of two.

One of its recordings has a gap, because its worker was killed; of its webhooks one accepts deliveries, one is down, and
one is gone for good. With --all it writes every page and every dialog, at three widths, light and dark, to look at.

Example: .venv/peers/bin/python Tests/EndToEnd/dashboard_screenshots.py --all --folder /tmp/pages
"""

import argparse
import os
import pathlib
import signal
import tempfile

from daemon import Daemon
from dashboard import Dashboard, chromium
from peers import room_url
from stage import PEERS, ROOT, Stage, python

SECRET = "of-the-screenshots"
TOKEN = "a-token-of-the-screenshots-000001"
HEIGHTS = {390: 844, 768: 1024, 1440: 900}
DOCUMENTS = {"width": 1280, "height": 800}
NEVER = "0000000000000000"


def start_sink(stage, status):
    sink = stage.start("sink", python("socketio5"), PEERS / "webhook_sink.py", "--secret", SECRET, "--status", status)
    return sink.wait_for_event("listening")["port"]


def start_scene(stage):
    server = stage.serve("--room-size", "3")
    targets = [(start_sink(stage, "204"), ["recording.*", "export.*"]), (9, ["recording.finished"]),
               (start_sink(stage, "410"), ["recording.finished"])]
    webhooks = [{"url": f"http://127.0.0.1:{port}/hook", "secret": SECRET, "events": events}
                for port, events in targets]
    record = {"empty_after": "2s", "export": ["tracks", "grid"]}
    daemon = Daemon(stage, {
        "all-hands": {"url": room_url(server, "all-hands"), "record": record},
        "branch-office": {"url": "socketio+http://127.0.0.1:9/branch"},
        "retro": {"url": room_url(server, "retro"), "record": record},
        "standup": {"url": room_url(server, "standup"), "join": {"schedule": "0 9 * * 1-5", "time_zone": "Europe/Berlin", "duration": "30m"}},
    }, webhooks=webhooks, api={"listen": "127.0.0.1:0", "token": TOKEN})
    plain = daemon.request
    daemon.request = lambda method, path, body=None, headers=None: plain(
        method, path, body, {"Authorization": f"Bearer {TOKEN}", **(headers or {})})
    for name in ("all-hands", "retro"):
        daemon.wait_for_phase(name, "joined")

    def join(room, name, seconds):
        stage.tapedeck("camera", room_url(server, room), "--duration", f"{seconds}s", "--size", "640x360", "--json", "--name", name)
    # The first call has a gap, in the second somebody comes later.
    join("retro", "Ann", 25)
    daemon.wait_for_recording("retro")
    os.kill(daemon.worker("retro"), signal.SIGKILL)
    daemon.wait_for_export("retro", timeout=90)
    join("retro", "Ann", 40)
    daemon.wait_for_recording("retro")
    join("retro", "Zoë", 25)
    daemon.wait_for("both", lambda: len(daemon.room("retro")["status"]["tracks"]) == 4)
    daemon.post("/v1/rooms/retro/mark", {"text": "the decision"})
    daemon.wait_for_export("retro", count=2, timeout=180)
    daemon.wait_for("a grid", lambda: all(
        any(export["layout"] == "grid" and export["state"] == "done" for export in daemon.get(
            f"/v1/recordings/{recording['id']}/exports")["exports"]) for recording in daemon.recordings()))
    daemon.post("/v1/rooms", {"name": "annexe", "definition": {"url": room_url(server, "annexe"), "join": "on-demand"}})
    join("all-hands", "Ann", 1800)
    join("all-hands", "Zoë", 1800)
    daemon.wait_for_recording("all-hands")
    return daemon


def open_page(browser, daemon, viewport, scheme):
    dashboard = Dashboard(browser, daemon.url, viewport, scheme)
    # The visitor who has not logged in, and the recording that is none.
    dashboard.expected = "401|404"
    page = dashboard.open()
    page.get_by_label("Token", exact=True).wait_for()
    return dashboard, page


def log_in(page):
    page.get_by_label("Token", exact=True).fill(TOKEN)
    page.get_by_role("button", name="Log in").click()
    page.locator(".still img:visible").nth(1).wait_for()


def show_recording(daemon, page):
    """Opens the recording of two, plays a part of it, and waits for all that is made on demand."""
    recording = next(item for item in daemon.recordings() if item["state"] == "finished")
    page.goto(f"{daemon.url}#recordings/{recording['id']}/t=20")
    video = page.locator("video")
    video.wait_for()
    page.locator(".strip").scroll_into_view_if_needed()
    # On a narrow screen only half of them are shown.
    page.wait_for_function("() => [...document.querySelectorAll('.strip span')].every(({ offsetWidth, firstChild }) => !offsetWidth || !firstChild.hidden)")
    page.locator("path.wave").nth(1).wait_for(state="attached")
    video.evaluate("video => video.play()")
    page.wait_for_function("() => document.querySelector('video')?.currentTime > 21")
    video.evaluate("video => video.pause()")
    page.evaluate("document.activeElement.blur(); scrollTo(0, 0)")


def take_documents(browser, daemon, folder, seconds):
    """What the documents show."""
    dashboard, page = open_page(browser, daemon, DOCUMENTS, "light")
    log_in(page)
    page.wait_for_timeout(seconds * 1000)
    page.screenshot(path=folder / "rooms-light.png")
    show_recording(daemon, page)
    page.screenshot(path=folder / "recording-light.png", full_page=True, clip={"x": 0, "y": 0, "width": 1280, "height": 1080})
    dashboard.close()
    assert dashboard.errors == [], dashboard.errors


def take_all(browser, daemon, folder, width, scheme):
    """Every page, as long as it is, and every dialog."""
    dashboard, page = open_page(browser, daemon, {"width": width, "height": HEIGHTS[width]}, scheme)

    def shoot(name, full_page=True):
        page.wait_for_timeout(500)
        page.screenshot(path=folder / f"{name}-{width}-{scheme}.png", full_page=full_page)

    def shoot_dialog(name):
        page.get_by_role("dialog").wait_for()
        shoot(name, full_page=False)
        page.keyboard.press("Escape")
    shoot("login")
    log_in(page)
    webhooks = page.get_by_role("region", name="Webhooks")
    webhooks.get_by_role("list", name="Failed for good").wait_for()
    page.wait_for_timeout(5000)
    shoot("rooms")
    page.get_by_role("button", name="Add room").click()
    page.get_by_role("combobox", name="Join").select_option("schedule")
    shoot_dialog("add-room")
    page.get_by_role("button", name="Edit annexe").click()
    shoot_dialog("edit-room")
    page.get_by_role("button", name="Remove annexe").click()
    shoot_dialog("remove-room")
    page.get_by_role("button", name="Mark all-hands").click()
    shoot_dialog("mark")
    page.get_by_role("link", name="Recordings").click()
    rows = page.get_by_role("list", name="Recordings").locator("> li")
    rows.nth(2).wait_for()
    page.wait_for_function("() => document.querySelectorAll('.face img:not([hidden])').length === 2")
    shoot("recordings")
    rows.nth(1).get_by_role("button", name="Delete").click()
    shoot_dialog("delete-recording")
    page.get_by_role("searchbox", name="Search").fill("nothing like this")
    page.get_by_text("No recording matches.").wait_for()
    shoot("no-match")
    show_recording(daemon, page)
    shoot("recording")
    page.goto(f"{daemon.url}#recordings/{NEVER}")
    page.get_by_role("heading", name="Recording not found").wait_for()
    shoot("not-found")
    dashboard.close()
    assert dashboard.errors == [], dashboard.errors


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--all", action="store_true", help="every page and dialog at three widths, in both schemes")
    parser.add_argument("--seconds", type=int, default=75, help="how long the curves in the documents' picture are")
    parser.add_argument("--folder", type=pathlib.Path, default=ROOT / "docs" / "screenshots")
    parser.add_argument("--tapedeck", default=os.environ.get("TAPEDECK", str(ROOT / ".build" / "debug" / "tapedeck")))
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        stage = Stage(folder, options.tapedeck)
        try:
            daemon = start_scene(stage)
            with chromium() as browser:
                if options.all:
                    for width in HEIGHTS:
                        for scheme in ("light", "dark"):
                            take_all(browser, daemon, options.folder, width, scheme)
                else:
                    take_documents(browser, daemon, options.folder, options.seconds)
        finally:
            print("\n".join(stage.finish()) or f"pictures are in {options.folder}")


if __name__ == "__main__":
    main()
