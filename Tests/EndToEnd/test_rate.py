# SPDX-License-Identifier: Apache-2.0
"""The camera's bit rate follows what the network takes: under a limit within 5 s, without freezes, and back."""

import json
import time

from stage import PEERS, python
import pytest

# Against the clock, over a network that is emulated: it measures.
pytestmark = [pytest.mark.media, pytest.mark.long]

ROOM = "standup"
LIMIT = 500_000
SETTLING = 5
LIMITED = 11
LONGEST_FREEZE = 0.5
RETURN_LIMIT = 60


class Sender:
    """Bits a second that a host sends."""

    def __init__(self, net, role):
        self.net, self.role = net, role

    def bits(self):
        link, = json.loads(self.net.run(self.role, "ip", "-j", "-s", "link", "show", "eth0"))
        return link["stats64"]["tx"]["bytes"] * 8

    def rate(self, seconds):
        bits, start = self.bits(), time.monotonic()
        time.sleep(seconds)
        return (self.bits() - bits) / (time.monotonic() - start)


def figures(browser):
    """Bytes that the browser has received by now."""
    before = sum(fact.get("event") == "stats" for fact in browser.facts)
    browser.tell("stats")
    stats = browser.wait_for("figures", lambda: [
        fact for fact in browser.facts if fact.get("event") == "stats"][before:])
    connection, = stats[-1]["connections"]
    return connection


def watched(browser, sender, seconds):
    """Bits a second second by second, and the longest freeze in that time."""
    rates, longest, last = [], 0.0, figures(browser)
    for _ in range(seconds):
        rates.append(round(sender.rate(1)))
        now = figures(browser)
        if freezes := now["freezeCount"] - last["freezeCount"]:
            longest = max(longest, (now["totalFreezesDuration"] - last["totalFreezesDuration"]) / freezes)
        assert now["framesDecoded"] > last["framesDecoded"], f"no frame in a second: {rates}\n{browser.story()}"
        last = now
    return rates, longest


def test_the_camera_settles_under_a_limit_and_returns(stage, lossy):
    server = stage.start("room", *lossy.inside(
        "r", python("socketio5"), PEERS / "socketio_room_server.py", "--host", "0.0.0.0"))
    port = server.wait_for_port()
    browser = stage.start("chromium", *lossy.inside(
        "b", python("peers"), PEERS / "browser_peer.py", "--url", f"http://{lossy.router('b')}:{port}",
        "--room", ROOM, "--receive"))
    browser.wait_for_event("joined")
    camera = stage.start("tapedeck-camera", *lossy.inside(
        "a", stage.tapedeck_path, "camera", f"socketio+http://{lossy.router('a')}:{port}/{ROOM}", "--size", "640x360",
        "--duration", "110s", "--json"))
    browser.wait_for_event("connected")
    sender = Sender(lossy, "a")
    time.sleep(3)
    free, _ = watched(browser, sender, 3)
    assert min(free) > 2 * LIMIT, f"{free}\n{camera.story()}"

    link = lossy.interfaces["b"]
    lossy.run("r", "tc", "qdisc", "add", "dev", link, "root", "tbf", "rate", f"{LIMIT // 1000}kbit", "burst", "16kb",
              "limit", "96kb")
    try:
        settling, first_freeze = watched(browser, sender, SETTLING)
        settled, second_freeze = watched(browser, sender, LIMITED - SETTLING)
    finally:
        lossy.run("r", "tc", "qdisc", "delete", "dev", link, "root")
    limited = f"free {free}, settling {settling}, settled {settled}, freezes {first_freeze:.3f} {second_freeze:.3f} s"
    assert sum(settled) / len(settled) < LIMIT, f"{limited}\n{camera.story()}"
    assert max(first_freeze, second_freeze) <= LONGEST_FREEZE, limited

    back, start = [], time.monotonic()
    while not back or back[-1] < 2 * LIMIT:
        assert time.monotonic() - start < RETURN_LIMIT, f"{limited}, back {back}"
        back += watched(browser, sender, 1)[0]
    print(f"{limited}, back {back}")
    camera.end()
    browser.end()
