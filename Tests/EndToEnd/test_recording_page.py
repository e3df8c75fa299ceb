# SPDX-License-Identifier: Apache-2.0
"""The page of a recording in Chromium: it plays everybody, shows the call's course, and has links to moments."""

import hashlib
import io
import json
import os
import re
import tarfile

import pytest
from daemon import Daemon
from dashboard import DESKTOP, PHONE, Dashboard, check_accessible
from peers import room_url
from recordings import fill_catalogue
from test_dashboard import browser, check_layout, fulfil, see, walk_by_keyboard  # noqa: F401

TOKENS = {"viewer": "viewer-viewer-viewer", "reader": "reader-reader-reader", "operator": "operator-operator-1"}
SCOPES = {"viewer": ["read", "media"], "reader": ["read"], "operator": ["read", "control", "media"]}
TABLET = {"width": 768, "height": 1024}
# They share a browser.
pytestmark = pytest.mark.xdist_group("dashboard")
PLAYS = "() => document.querySelector('video')?.currentTime > 0.3"


def sign_in(browser, daemon, name, view):  # noqa: F811
    dashboard = Dashboard(browser, daemon.url, DESKTOP)
    page = dashboard.open(view)
    page.get_by_label("Token", exact=True).fill(TOKENS[name])
    page.get_by_role("button", name="Log in").click()
    return dashboard


@pytest.mark.media
def test_a_call_of_two_is_played_by_those_who_may(stage, browser):  # noqa: F811
    server = stage.serve("--room-size", "3")
    daemon = Daemon(stage, {"standup": {"url": room_url(server, "one"), "record": {"empty_after": "1s"}}}, api={
        "listen": "127.0.0.1:0", "tokens": [
            {"name": name, "value": value, "scopes": SCOPES[name]} for name, value in TOKENS.items()]})
    plain, authorization = daemon.request, f"Bearer {TOKENS['operator']}"
    daemon.request = lambda method, path, body=None, headers=None: plain(
        method, path, body, {"Authorization": authorization, **(headers or {})})
    daemon.wait_for_phase("standup", "joined")
    cameras = [stage.tapedeck("camera", room_url(server, "one"), "--json", "--size", "320x180", "--name", name)
               for name in ("Ann", "Zoë")]
    daemon.wait_for("both", lambda: len(daemon.room("standup")["status"]["tracks"]) == 4)
    daemon.post("/v1/rooms/standup/mark", {"text": "the decision"})

    # While it goes on: a clock, and the names.
    dashboard = sign_in(browser, daemon, "operator", "recordings")
    page = dashboard.page
    row = see(page.get_by_role("list", name="Recordings").locator("> li").filter(
        has_text=re.compile("Ann, Zoë|Zoë, Ann")))
    clocks = {row.locator(".amounts").inner_text()}
    daemon.wait_for("a clock that goes", lambda: clocks.add(row.locator(".amounts").inner_text()) or len(clocks) > 2)
    assert all(re.match(r"\d:\d\d", clock) for clock in clocks), clocks
    recording, = daemon.recordings()
    link = f"/v1/recordings/{recording['id']}"
    assert daemon.request("GET", f"{link}/archive.tar")[0] == 409
    for camera in cameras:
        camera.end()
    daemon.wait_for_export("standup")
    daemon.wait_for("its end", lambda: daemon.get(link)["state"] == "finished")
    image = see(row.locator("img"))
    daemon.wait_for("an image", lambda: image.evaluate("image => image.naturalWidth") == 320)
    seconds = daemon.get(link)["durationSeconds"]

    # Without a rendition a viewer is told what is missing; then the operator's is made and played.
    viewer = sign_in(browser, daemon, "viewer", f"recordings/{recording['id']}")
    see(viewer.page.get_by_text("No one has exported a video of everyone yet."))
    assert viewer.page.locator("video").is_hidden()
    row.get_by_role("button", name=re.compile("^Play")).click()
    region = see(page.get_by_role("region", name="standup"))
    page.wait_for_function(PLAYS)
    assert page.evaluate("document.querySelector('video').videoWidth") == 1280, "everybody, in one"
    assert daemon.get(f"{link}/timeline")["participants"][0]["speaks"] is not None

    # Played with `media`, without anything being ordered; the links of its course go to their moments.
    orders = len(daemon.get(f"{link}/exports")["exports"])
    viewer.page.goto("about:blank")
    viewer.open(f"recordings/{recording['id']}/t=1")
    video = see(viewer.page.locator("video"))
    daemon.wait_for("the moment", lambda: abs(video.evaluate("video => video.currentTime") - 1) < 0.1)
    video.evaluate("video => video.play()")
    viewer.page.wait_for_function("() => document.querySelector('video').currentTime > 1.3")
    video.evaluate("video => video.pause()")
    assert len(daemon.get(f"{link}/exports")["exports"]) == orders
    timeline = see(viewer.page.get_by_role("region", name="Timeline"))
    for text in ("Ann joined", "Zoë joined", "Mark: the decision"):
        see(timeline.get_by_text(text))
    # Images above the lanes, of the moments that they stand over.
    images = timeline.locator(".strip img")
    daemon.wait_for("a strip of images", lambda: images.evaluate_all("all => all.map(image => image.naturalWidth)") == [320] * 8)
    # Waveforms in the lanes: a beep each second is loud, and silence between them is not.
    daemon.wait_for("waveforms", lambda: timeline.locator("path.wave").count() == 2)
    levels = daemon.get(f"{link}/levels")
    assert {person["id"] for person in levels["participants"]} == {
        person["id"] for person in daemon.get(f"{link}/timeline")["participants"]}
    for person in levels["participants"]:
        loud = [level > -30 for level in person["levels"]]
        beeps = [index * levels["stepSeconds"] for index, now in enumerate(loud) if now and not (index and loud[index - 1])]
        # The busiest machine may lose a beep, and moves none.
        assert len(beeps) > 1 and all(abs(later - beeps[0] - round(later - beeps[0])) < 0.25 for later in beeps), person
        assert abs(len(loud) * levels["stepSeconds"] - seconds) < 0.3 and "damaged" not in person
    moment = timeline.get_by_role("listitem").filter(has_text="Mark: the decision").get_by_role("link")
    moment.click()
    at = float(moment.get_attribute("href").rpartition("=")[2])
    daemon.wait_for("the mark", lambda: abs(video.evaluate("video => video.currentTime") - at) < 0.1)
    # Followed also where the page's address names this moment already.
    video.evaluate("(video, at) => { video.currentTime = at + 1 }", at)
    daemon.wait_for("another moment", lambda: abs(video.evaluate("video => video.currentTime") - at - 1) < 0.1)
    moment.click()
    daemon.wait_for("the mark again", lambda: abs(video.evaluate("video => video.currentTime") - at) < 0.1)
    slider = timeline.get_by_role("slider", name="Position")
    slider.press("Home")
    daemon.wait_for("the beginning", lambda: video.evaluate("video => video.currentTime") == 0)
    box = slider.bounding_box()
    slider.click(position={"x": box["width"] / 2, "y": 5})
    daemon.wait_for("the middle", lambda: abs(video.evaluate("video => video.currentTime") - seconds / 2) < 0.5)
    assert viewer.page.url.endswith(f"#recordings/{recording['id']}/t={int(video.evaluate('v => v.currentTime'))}")
    before = int(viewer.page.url.rpartition("=")[2])
    viewer.page.reload()
    daemon.wait_for("the same after a reload", lambda: abs(video.evaluate("video => video.currentTime") - before) < 0.1)
    viewer.page.goto(f"{daemon.url}#recordings")
    see(viewer.page.get_by_role("list", name="Recordings"))
    viewer.page.go_back()
    see(viewer.page.get_by_role("region", name="standup"))
    daemon.wait_for("the same after Back", lambda: abs(video.evaluate("video => video.currentTime") - before) < 0.1)
    assert viewer.page.get_by_role("button", name="Delete").count() == 0
    for scheme in ("light", "dark"):
        viewer.page.get_by_role("combobox", name="Colours").select_option(scheme)
        check_accessible(viewer.page)

    # A reader sees the course, and plays nothing.
    reader = sign_in(browser, daemon, "reader", f"recordings/{recording['id']}")
    see(reader.page.get_by_role("region", name="Timeline").get_by_text("Mark: the decision"))
    assert reader.page.get_by_role("slider").count() == reader.page.get_by_role("link", name="archive").count() == 0
    reader.close()

    folder = check_archive(daemon, link, region)
    # What is cut off is silent, and said.
    track = min((folder / "tracks").glob("*.mka"))
    os.truncate(track, track.stat().st_size // 2)
    cut = [person for person in daemon.get(f"{link}/levels")["participants"] if person.get("damaged")]
    assert len(cut) == 1 and set(cut[0]["levels"][-len(cut[0]["levels"]) // 3:]) == {-90}, cut
    for width in (DESKTOP, TABLET, PHONE):
        page.set_viewport_size(width)
        check_layout(page, width["width"])
    walk_by_keyboard(page, "#recording-view")

    # Gone while it is shown, and when its link is opened later.
    assert daemon.request("DELETE", link)[0] == 204
    see(page.get_by_role("heading", name="Recording not found"))
    viewer.expected = 404
    viewer.page.reload()
    see(viewer.page.get_by_role("heading", name="Recording not found"))
    viewer.page.get_by_role("link", name="All recordings").click()
    see(viewer.page.get_by_text("There is no recording yet."))
    for each in (dashboard, viewer):
        assert each.errors == [] and each.foreign == []
        each.close()


def check_archive(daemon, link, region):
    """Every file of the recording is in the archive, which a client can get in two parts."""
    folder, = (daemon.storage / "recordings" / "standup").glob("*/")
    status, headers, body = daemon.request("GET", f"{link}/archive.tar")
    assert status == 200 and int(headers["Content-Length"]) == len(body)
    assert headers["Content-Disposition"] == f'attachment; filename="standup-{folder.name}.tar"'
    with tarfile.open(fileobj=io.BytesIO(body), mode="r:") as archive:
        found = {member.name: hashlib.sha256(archive.extractfile(member).read()).hexdigest() for member in archive}
    assert found == {f"{folder.name}/{path.relative_to(folder)}": hashlib.sha256(path.read_bytes()).hexdigest()
                     for path in folder.rglob("*") if path.is_file() and not path.name.startswith(".")}
    half = len(body) // 2
    first = daemon.request("GET", f"{link}/archive.tar", None, {"Range": f"bytes=0-{half - 1}"})
    rest = daemon.request("GET", f"{link}/archive.tar", None, {"Range": f"bytes={half}-", "If-Range": headers["ETag"]})
    assert first[0] == rest[0] == 206 and first[2] + rest[2] == body
    assert region.get_by_role("link", name="All files in one archive").get_attribute("href") == f"{link}/archive.tar"
    return folder


TRACKS = [{"number": number, "participant": identity, "name": name, "kind": kind, "codec": "vp8", "units": 9, "bytes": 9}
          for number, (identity, name, kind) in enumerate(
              (("x1", "Ann", "video"), ("x1", "Ann", "audio"), ("x2", "Zoë", "video")), 1)]
RECORDING = {"id": "r", "room": "standup", "start": "2026-11-21T03:12:26Z", "durationSeconds": 600, "bytes": 1,
             "state": "finished", "participants": ["Ann", "Zoë"], "tags": [], "tracks": TRACKS, "files": []}


def pretend(dashboard, recording=RECORDING, timeline=None, exports=()):
    for path, answer in {
        "/v1/recordings": {"recordings": [recording]}, "/v1/recordings/r": recording,
        "/v1/recordings/r/timeline": timeline or {"durationSeconds": 600, "participants": [], "events": []},
        "/v1/recordings/r/exports": {"exports": list(exports)},
    }.items():
        fulfil(dashboard.page, path, answer)


def test_what_is_made_says_how_long_it_takes(stage, browser):  # noqa: F811
    daemon = Daemon(stage, {})
    dashboard = Dashboard(browser, daemon.url, DESKTOP)
    page = dashboard.page
    pretend(dashboard)
    export = {"id": "e", "recording": "r", "layout": "grid", "attempts": 0}
    states = [{"state": "queued", "progress": 0}, {"state": "running", "progress": 0}]
    states += [{"state": "running", "progress": step / 100} for step in range(1, 100)]
    ordered, asked = [], []

    def answer(route):
        if route.request.method == "POST":
            ordered.append(json.loads(route.request.post_data))
        if ordered:
            asked.append(None)
        state = states[min(len(asked), len(states)) - 1]
        item = {**export, **state}
        body = item if route.request.method == "POST" else {"exports": [item] if ordered else []}
        route.fulfill(body=json.dumps(body), content_type="application/json")
    page.route(re.compile(r"/v1/recordings/r/exports$"), answer)
    dashboard.open("recordings/r")
    region = see(page.get_by_role("region", name="standup"))
    see(region.get_by_text("Play makes a video of everyone first."))
    region.get_by_role("button", name="Play").click()
    see(region.get_by_text(re.compile(r"^Making a video of everyone: \d+ %, about \d+ (s|min).* left$")))
    assert ordered == [{"layout": "grid"}]
    # Another look follows the one that runs.
    page.reload()
    region.get_by_role("button", name="Play").click()
    see(region.get_by_text(re.compile(r"^Making a video of everyone: \d+ %")))
    assert ordered == [{"layout": "grid"}]
    assert dashboard.errors == []
    dashboard.close()


@pytest.mark.parametrize(("kinds", "files", "played"), [
    (("video", "video"), ["browser.webm", "call-audio.opus", "call-grid.mp4"], "call-grid.mp4"),
    (("video", "video"), ["browser-Ann.webm", "call-grid-from-1s.mp4", "browser.webm"], None),
    (("video", "audio"), ["browser.webm"], None),
    (("audio", "audio"), ["browser.webm", "call-audio.opus"], "call-audio.opus"),
], ids=["grid", "parts", "one of two", "audio"])
def test_only_what_has_everybody_is_played(stage, browser, kinds, files, played):  # noqa: F811
    tracks = [{**TRACKS[0], "participant": str(index), "kind": kind} for index, kind in enumerate(kinds)]
    daemon = Daemon(stage, {})
    dashboard = Dashboard(browser, daemon.url, DESKTOP)
    pretend(dashboard, {**RECORDING, "tracks": tracks, "files": [
        {"name": name, "bytes": 1, "type": "video/mp4"} for name in files]})
    # The file itself is none.
    dashboard.expected = 404
    page = dashboard.open("recordings/r")
    see(page.get_by_role("region", name="standup").get_by_role("link", name=files[0]))
    source = page.locator("video").get_attribute("src")
    assert source == (f"/v1/recordings/r/files/{played}" if played else None)
    if played:
        see(page.get_by_text("This browser cannot play the file."))
    dashboard.close()


def test_the_timeline_shows_who_was_there_who_spoke_and_what_is_missing(stage, browser):  # noqa: F811
    daemon = Daemon(stage, {})
    dashboard = Dashboard(browser, daemon.url, PHONE, "dark")
    span = [{"from": 60, "to": 120}]
    people = [{"id": f"x{index}", "name": f"Somebody whose name is long {index}", "present": [{"from": 0, "to": 600}],
               "speaks": span, "gaps": [{"from": 0, "to": 60}] if index == 1 else []} for index in range(12)]
    events = [{"at": index / 20, "kind": "mark", "text": f"mark {index}"} for index in range(10_000)]
    pretend(dashboard, timeline={"durationSeconds": 600, "participants": people, "events": events + [
        {"at": 599, "kind": "of a later version"}]})
    page = dashboard.open("recordings/r")
    timeline = see(page.get_by_role("region", name="Timeline"))
    paths = timeline.locator(".speaks").evaluate_all("paths => paths.map(path => path.getAttribute('d'))")
    assert [path for path in paths if path] == ["M100.0 0H200.0V10H100.0Z"] * 12
    assert timeline.locator("path.gap").count() == 1
    see(timeline.get_by_text("Nothing of Somebody whose name is long 1 for 60.0 s"))
    see(timeline.get_by_text("and 9501 more"))
    assert "later version" not in timeline.inner_text()
    check_layout(page, PHONE["width"])
    check_accessible(page)
    assert dashboard.errors == []
    dashboard.close()


COURSE = {"durationSeconds": 600, "events": [], "participants": [
    {"id": identity, "name": name, "present": [{"from": 0, "to": 600}], "gaps": []} for identity, name in (("x1", "Ann"), ("x2", "Zoë"))]}
EXPORTED = {**RECORDING, "verdict": "damaged", "certificate": {
    "verdict": "damaged", "durationSeconds": 600, "gaps": [], "damage": [], "files": []}}
LEVELS = {"stepSeconds": 60, "participants": [{"id": "x1", "levels": [-6] * 10}, {"id": "x2", "levels": [-90] * 10, "damaged": True}]}


@pytest.mark.parametrize(("recording", "failing", "text", "waves"), [
    ({**RECORDING, "state": "recording"}, (), "The timeline follows when the recording is over.", 0),
    (RECORDING, ("timeline",), "The timeline cannot be shown: it cannot be read", 0),
    (RECORDING, (), "Images and waveforms follow after the first export.", 0),
    (EXPORTED, (), "Incomplete waveform, because a file is damaged: Zoë.", 2),
    (EXPORTED, ("levels",), "There are no waveforms: it cannot be read", 0),
], ids=["in progress", "no journal", "not exported", "damaged", "not made"])
def test_the_timeline_says_what_it_does_not_show(stage, browser, recording, failing, text, waves):  # noqa: F811
    daemon = Daemon(stage, {})
    dashboard = Dashboard(browser, daemon.url, PHONE)
    dashboard.expected = "404|500"
    pretend(dashboard, recording, COURSE)
    fulfil(dashboard.page, "/v1/recordings/r/levels", LEVELS)
    for name in failing:
        fulfil(dashboard.page, f"/v1/recordings/r/{name}", {"detail": "it cannot be read"}, 500)
    page = dashboard.open("recordings/r")
    timeline = see(page.get_by_role("region", name="Timeline"))
    see(timeline.get_by_text(text, exact=True))
    assert timeline.locator("path.wave").count() == waves
    # They are a decoration: the legend names them, and a screen reader has the moments and the position.
    assert timeline.get_by_text("loudness", exact=True).count() == bool(waves)
    assert timeline.locator("svg:not([aria-hidden=true])").count() == 0
    check_layout(page, PHONE["width"])
    check_accessible(page)
    assert dashboard.errors == []
    dashboard.close()


def test_links_that_lead_nowhere_say_so(stage, browser):  # noqa: F811
    daemon = Daemon(stage, {})
    for link in ("recordings/0123456789abcdef", "recordings/..%2F..%2Fetc", "recordings/%zz/t=nonsense", "recordings/a/b"):
        dashboard = Dashboard(browser, daemon.url, PHONE)
        dashboard.expected = "400|404"
        page = dashboard.open(link)
        see(page.get_by_role("heading", name="Recording not found"))
        assert page.title() == "Recording not found – Tapedeck"
        check_layout(page, PHONE["width"])
        page.get_by_role("link", name="All recordings").click()
        see(page.get_by_text("There is no recording yet."))
        assert dashboard.errors == []
        dashboard.close()


def test_a_list_of_ten_thousand_holds_one_page(stage, browser):  # noqa: F811
    daemon = Daemon(stage, {})
    ids = fill_catalogue(daemon.storage, 10_000)
    dashboard = Dashboard(browser, daemon.url, DESKTOP)
    # The recordings have no files, and a question for an image of one says so.
    dashboard.expected = 404
    page = dashboard.open("recordings")
    rows = page.get_by_role("list", name="Recordings").locator("> li")

    def is_shown(first):
        see(rows.first.locator(f"a[href='#recordings/{ids[first]}']").first)
        assert rows.count() == 25
        # A page more is no more to draw and to scroll.
        assert page.evaluate("document.querySelectorAll('#recordings-view *').length") < 1000
    for first in range(0, 250, 25):
        is_shown(first)
        page.get_by_role("button", name="Older").click()
    page.get_by_role("button", name="Newer").click()
    is_shown(225)
    page.get_by_role("searchbox", name="Search").fill(ids[-1])
    see(rows.first.locator(f"a[href='#recordings/{ids[-1]}']").first)
    rows.nth(1).wait_for(state="detached")
    # Every recording is on one page, in order, to the last.
    found, cursor = [], ""
    while cursor is not None:
        part = daemon.get(f"/v1/recordings?limit=200{cursor and f'&cursor={cursor}'}")
        found += [recording["id"] for recording in part["recordings"]]
        cursor = part.get("next")
    assert found == ids
    assert dashboard.errors == []
    dashboard.close()
