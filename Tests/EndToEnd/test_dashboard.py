# SPDX-License-Identifier: Apache-2.0
"""The dashboard in Chromium, on a daemon with a call."""

import datetime
import json
import re
import urllib.parse

import pytest
from daemon import Daemon
from dashboard import DESKTOP, PHONE, Dashboard, check_accessible, chromium
from peers import room_url
from stage import PEERS, free_port, python
from playwright.sync_api import TimeoutError

TOKEN = "a-token-of-thirty-two-characters"
HOSTILE = "<img src=x onerror=\"window.hacked=1\"><script>window.hacked=1</script>"
MAXIMUM_BYTES = 200_000
OVERFLOWING = """() => [...document.querySelectorAll("body *")].filter(element => {
    const box = element.getBoundingClientRect();
    const style = getComputedStyle(element);
    if (!box.width || element.closest(".visually-hidden, .skip, svg")) return false;
    const cutOff = style.overflowX === "visible" && element.scrollWidth > element.clientWidth + 1
        && style.display !== "inline" && element.clientWidth > 0;
    let clip = element;
    while (clip && getComputedStyle(clip).overflowX === "visible") clip = clip.parentElement;
    const visible = clip && clip !== document.documentElement && clip !== document.body
        ? clip.getBoundingClientRect() : box;
    return visible.right > innerWidth + 0.5 || visible.left < -0.5 || cutOff;
}).map(element => `${element.tagName} ${element.className} ${element.textContent.slice(0, 40)}`)"""
FOCUSABLE = """(root) => [...document.querySelector(root).querySelectorAll("a[href], button, input, select")].filter(
    element => !element.disabled && element.tabIndex >= 0 && element.checkVisibility({ contentVisibilityAuto: true }))
    .map((element, index) => element.dataset.walk = `${root}${index}`)"""
FOCUS = """() => {
    const element = document.activeElement;
    const style = getComputedStyle(element);
    return { walk: element.dataset.walk ?? null, outline: style.outlineStyle !== "none" && style.outlineWidth !== "0px",
             text: element.outerHTML.slice(0, 120) };
}"""


# They share a browser.
pytestmark = pytest.mark.xdist_group("dashboard")


@pytest.fixture(scope="module")
def browser():
    with chromium() as running:
        yield running


@pytest.fixture
def call(stage):
    """A daemon with a room where somebody is whose name is HTML, and a room where nobody is."""
    server = stage.room_server(5, "--variant", "hostile-ids")
    daemon = Daemon(stage, {
        "standup": {"url": room_url(server, "one"), "record": {"empty_after": "120s"}},
        "meeting": {"url": room_url(server, "two"), "join": "on-demand"},
    }, api={"listen": f"127.0.0.1:{free_port()}"})
    daemon.wait_for_phase("standup", "joined")
    stage.tapedeck("camera", room_url(server, "one"), "--json", "--size", "320x180")
    daemon.wait_for_recording("standup")
    daemon.server = server
    return daemon


def see(locator, timeout=90_000):
    locator.wait_for(state="visible", timeout=timeout)
    return locator


def press(dashboard, card, verb, state):
    """Presses a button of a card; waits for what the card says then."""
    card.get_by_role("button", name=re.compile(f"^{verb}")).click()
    see(card.locator(".state", has_text=re.compile(f"^{state}$")))


def check_layout(page, width):
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert page.evaluate(OVERFLOWING) == []


def walk_by_keyboard(page, root):
    """Tab comes to every control inside an element, and each shows that it has the focus."""
    wanted = set(page.evaluate(FOCUSABLE, root))
    assert wanted
    for _ in range(3 * len(wanted) + 20):
        page.keyboard.press("Tab")
        focus = page.evaluate(FOCUS)
        if focus["walk"] in wanted:
            assert focus["outline"], focus
            wanted.discard(focus["walk"])
        if not wanted:
            return
    missed = page.evaluate("ids => ids.map(id => document.querySelector(`[data-walk='${id}']`)?.outerHTML)",
                           list(wanted))
    raise AssertionError(f"Tab does not come to {missed}")


@pytest.mark.parametrize("viewport", [
    pytest.param(DESKTOP, id="desktop"), pytest.param(PHONE, id="phone", marks=pytest.mark.long)])
def test_a_call_is_watched_steered_played_and_deleted(call, browser, viewport):
    dashboard = Dashboard(browser, call.url, viewport)
    page = dashboard.open()
    card = see(dashboard.card("standup"))
    see(card.locator(".state", has_text="Recording"))
    see(page.get_by_text("1 of 2"))
    check_cost(page)

    # A picture of the camera.
    picture = see(card.get_by_role("img", name=re.compile("^Image of ")))
    # Not by decode(): another picture may come meanwhile.
    call.wait_for("its pixels", lambda: picture.evaluate("image => image.complete && image.naturalWidth") > 0)
    call.wait_for("codec and processor", lambda: "VP8 320×180" in (text := card.inner_text()) and "CPU" in text)
    check_layout(page, viewport["width"])

    # A clock that runs between two answers of the daemon.
    clock = see(card.locator(".clock"))
    shown = clock.inner_text()
    assert re.fullmatch(r"\d+:\d\d", shown)
    page.wait_for_function(
        "shown => [...document.querySelectorAll('.clock')].some(({ textContent }) => textContent && textContent !== shown)",
        arg=shown)

    # Orders.
    press(dashboard, card, "Pause", "Paused")
    press(dashboard, card, "Resume", "Recording")
    before = max(track["keyframeRequests"] for track in call.room("standup")["status"]["tracks"])
    card.get_by_role("button", name="Keyframe standup").click()
    call.wait_for("a keyframe request", lambda: max(
        track["keyframeRequests"] for track in call.room("standup")["status"]["tracks"]) > before)
    card.get_by_role("button", name="Mark standup").click()
    page.get_by_role("textbox", name="Text").fill("the decision")
    page.keyboard.press("Enter")
    see(page.get_by_role("status").filter(has_text=re.compile("^standup: marked “the decision” at \\d")))
    journal, = (call.storage / "recordings" / "standup").glob("*/journal.jsonl")
    call.wait_for("the mark in the journal", lambda: "the decision" in journal.read_text())
    press(dashboard, card, "Stop", "Not recording")
    call.wait_for_export("standup")
    press(dashboard, card, "Record", "Recording")

    add_and_remove_a_room(dashboard, call)

    # Figures of the media, and their curve.
    see(card.locator(".meter .value", has_text=re.compile("[1-9].* [kM]bit/s")))
    assert re.search("M.*L", card.locator(".sparkline .line").first.get_attribute("d"))
    play_export_and_delete(dashboard, call, viewport)
    assert dashboard.errors == [] and dashboard.foreign == []
    assert page.evaluate("window.hacked") is None

    # The daemon goes and comes back.
    call.process.end()
    see(page.get_by_text("The connection to the daemon is lost"))
    call.start()
    page.get_by_text("The connection to the daemon is lost").wait_for(state="hidden", timeout=90_000)
    see(page.locator("#connection", has_text="Live"))
    dashboard.close()


def check_cost(page):
    size = page.evaluate("""[...performance.getEntriesByType("navigation"), ...performance.getEntriesByType("resource")]
        .filter(entry => !new URL(entry.name).pathname.startsWith("/v1/"))
        .reduce((sum, entry) => sum + entry.decodedBodySize, 0)""")
    assert 10_000 < size <= MAXIMUM_BYTES, f"the page has {size} bytes"
    # Cumulative layout shift: up to 0.1 counts as good.
    shift = page.evaluate("""new Promise(resolve => new PerformanceObserver((list) => resolve(
        list.getEntries().reduce((sum, entry) => sum + entry.value, 0)))
        .observe({ type: "layout-shift", buffered: true })
        || setTimeout(() => resolve(0), 500))""")
    assert shift <= 0.1, f"the page moves by {shift}"


def posted(path):
    """Whether a response is that of an order: the page also reads these paths, whenever something has changed."""
    return lambda response: response.request.method == "POST" and response.url.endswith(path)


def add_and_remove_a_room(dashboard, call):
    page = dashboard.page
    page.get_by_role("button", name="Add room").click()
    form = see(page.get_by_role("dialog", name="Add a room"))
    form.get_by_role("textbox", name="Name").fill("annexe")
    form.get_by_role("textbox", name="Room URL").fill("nonsense://nowhere")
    # What the browser itself writes about the answer.
    dashboard.expected = 422
    with page.expect_response(posted("/v1/rooms")) as refused:
        form.get_by_role("button", name="Add room").click()
    assert refused.value.status == 422
    # In the words of the form, at the field.
    problem = see(form.get_by_role("alert").get_by_role("listitem").first).inner_text()
    assert problem.startswith("Room URL: scheme: ") and "line 1" not in problem, problem
    url = form.get_by_role("textbox", name="Room URL")
    assert url.get_attribute("aria-invalid") == "true" and url.evaluate("field => field === document.activeElement")
    url.fill(room_url(call.server, "three"))
    assert url.get_attribute("aria-invalid") is None
    form.get_by_role("combobox", name="Join").select_option("on-demand")
    form.get_by_role("checkbox", name="Audio").uncheck()
    form.get_by_role("button", name="Add room").click()
    card = see(dashboard.card("annexe"))
    assert call.room("annexe")["join"] == "on-demand"
    page.get_by_role("searchbox", name="Filter rooms").fill("annex")
    dashboard.card("standup").wait_for(state="detached")
    card.get_by_role("button", name="Remove annexe").click()
    question = see(page.get_by_role("dialog", name="Remove annexe?"))
    question.get_by_role("button", name="Cancel").click()
    assert call.room("annexe")
    card.get_by_role("button", name="Remove annexe").click()
    question.get_by_role("button", name="Remove room").click()
    card.wait_for(state="detached")
    call.wait_for("its end", lambda: call.request("GET", "/v1/rooms/annexe")[0] == 404)
    page.get_by_role("searchbox", name="Filter rooms").fill("")
    see(dashboard.card("standup"))


def play_export_and_delete(dashboard, call, viewport):
    page = dashboard.page
    finished, = (recording for recording in call.recordings() if recording["state"] == "finished")
    page.get_by_role("link", name="Recordings").click()
    rows = page.get_by_role("list", name="Recordings").locator("> li")
    row = see(rows.filter(has_text=re.compile("Complete|Gaps")))
    see(rows.filter(has_text="Recording").first)
    search = page.get_by_role("searchbox", name="Search")
    search.fill("nothing like this")
    see(page.get_by_text("No recording matches."))
    search.fill(finished["id"])
    see(row)
    rows.nth(1).wait_for(state="detached")
    page.get_by_role("combobox", name="Room").select_option("standup")
    page.get_by_label("From").fill("2099-01-01")
    see(page.get_by_text("No recording matches."))
    page.get_by_label("From").fill("2020-01-01")
    check_layout(page, viewport["width"])

    see(row).get_by_role("button", name=re.compile("^Play")).click()
    details = see(page.get_by_role("region", name="standup"))
    page.wait_for_function("() => document.querySelector('video').currentTime > 0.3")
    assert page.evaluate("document.querySelector('video').videoWidth") == 320
    call.wait_for("both codecs", lambda: "VP8" in (text := details.inner_text()) and "OPUS" in text)
    check_layout(page, viewport["width"])
    check_accessible(page)
    # Its label is "To" alone: the choice of participants has any letters in it, "to" too.
    details.get_by_role("spinbutton", name="To", exact=True).fill("2")
    with page.expect_response(posted("/exports")) as queued:
        details.get_by_role("button", name="Export").click()
    assert queued.value.status == 202
    see(details.get_by_role("list", name="Exports").locator("> li[data-state=done]").nth(2))
    # The files are asked for after that, and put in the place of those before.
    see(details.locator("ul.files a", has_text="-to-2s"))
    with page.expect_download() as download:
        details.get_by_role("link", name="call.mkv").first.click()
    assert download.value.path().stat().st_size > 1000
    walk_by_keyboard(page, "#recording-view")
    page.go_back()
    details.wait_for(state="hidden")
    see(row)
    assert row.get_by_role("link", name="standup").evaluate("link => link === document.activeElement")

    row.get_by_role("button", name=re.compile("^Delete")).click()
    page.get_by_role("button", name="Delete recording").click()
    row.wait_for(state="detached")
    call.wait_for("its end", lambda: call.request("GET", f"/v1/recordings/{finished['id']}")[0] == 404)
    page.get_by_role("link", name="Rooms").click()


def test_everything_has_a_name_and_is_reached_by_keyboard(call, browser):
    dashboard = Dashboard(browser, call.url, DESKTOP)
    page = dashboard.open()
    see(dashboard.card("standup"))
    see(dashboard.card("standup").get_by_role("img"))
    for scheme in ("light", "dark"):
        page.get_by_role("combobox", name="Colours").select_option(scheme)
        check_accessible(page)
    walk_by_keyboard(page, "body")
    # Dialogs keep the focus, and give it back.
    page.get_by_role("button", name="Add room").focus()
    page.keyboard.press("Enter")
    see(page.get_by_role("dialog", name="Add a room"))
    page.get_by_role("combobox", name="Join").select_option("schedule")
    check_accessible(page)
    walk_by_keyboard(page, "#room-dialog")
    page.keyboard.press("Escape")
    assert page.evaluate("document.activeElement.id") == "add-room"
    # The choice of colours outlives a reload.
    page.reload()
    see(dashboard.card("standup"))
    assert page.evaluate("getComputedStyle(document.body).colorScheme") == "dark"
    page.get_by_role("link", name="Recordings").click()
    see(page.get_by_role("list", name="Recordings"))
    check_accessible(page)
    walk_by_keyboard(page, "body")
    # Pictures are made for those who look.
    with pytest.raises(TimeoutError):
        page.wait_for_event("request", lambda request: request.url.endswith("/thumbnail.jpg"), timeout=5_000)
    with page.expect_request("**/thumbnail.jpg"):
        page.get_by_role("link", name="Rooms").click()
    assert dashboard.errors == [] and dashboard.foreign == []
    dashboard.close()


def test_a_room_that_was_added_here_is_edited_and_survives_a_restart(stage, browser):
    url = "socketio+http://127.0.0.1:9/annexe"
    daemon = Daemon(stage, {"hall": {"url": "socketio+http://127.0.0.1:9/hall", "join": "on-demand"}},
                    api={"listen": f"127.0.0.1:{free_port()}"})
    dashboard = Dashboard(browser, daemon.url, DESKTOP)
    page = dashboard.open()
    assert see(dashboard.card("hall")).get_by_text("Waits for a request to record").is_visible()
    assert dashboard.card("hall").get_by_role("button", name="Edit hall").count() == 0
    page.get_by_role("button", name="Add room").click()
    form = see(page.get_by_role("dialog", name="Add a room"))
    form.get_by_role("textbox", name="Name").fill("annexe")
    form.get_by_role("textbox", name="Room URL").fill(url)
    form.get_by_role("combobox", name="Join").select_option("on-demand")
    form.get_by_label("Password").fill("s3cret")
    form.get_by_role("button", name="Add room").click()
    card = see(dashboard.card("annexe"))

    def edit():
        card.get_by_role("button", name="Edit annexe").click()
        return see(page.get_by_role("dialog", name="Change annexe"))
    form = edit()
    assert form.get_by_role("textbox", name="Room URL").input_value() == url
    assert form.get_by_label("Password").input_value() == ""
    check_accessible(page)
    form.get_by_role("combobox", name="Join").select_option("schedule")
    form.get_by_label("Cron expression").fill("0 9 * * 8")
    form.get_by_role("textbox", name="Announcement").fill("This call is recorded.")
    form.get_by_role("checkbox", name="Video").uncheck()
    dashboard.expected = 422
    form.get_by_role("button", name="Save").click()
    see(form.get_by_role("alert").get_by_text(re.compile("^Cron expression: ")))
    # A day on which it is not open, whatever day it is.
    far = datetime.datetime.now(datetime.UTC) + datetime.timedelta(days=3)
    weekly = f"0 9 * * {far.isoweekday() % 7}"
    form.get_by_label("Cron expression").fill(weekly)
    form.get_by_role("button", name="Save").click()
    form.wait_for(state="hidden")
    see(card.get_by_text(re.compile(rf"^By schedule · next: {far:%a},? \d\d:00|^By schedule · next: .*, \d\d:00")))
    see(card.get_by_text("Outside its schedule"))
    before = daemon.room("annexe")
    assert before["definition"] == {
        "url": url, "join": {"schedule": weekly, "time_zone": "UTC", "duration": "90m"},
        "record": {"video": False, "audio": True, "automatic": True}, "announce": "This call is recorded."}

    daemon.restart()
    after = daemon.room("annexe")
    assert {key: after[key] for key in ("definition", "join", "origin", "next")} == {
        key: before[key] for key in ("definition", "join", "origin", "next")}
    # The password is kept, and goes to no other URL.
    status, _, answer = daemon.request("PATCH", "/v1/rooms/annexe", {"url": "socketio+http://127.0.0.1:9/other"})
    assert status == 422 and b"secret" in answer
    see(page.locator("#connection", has_text="Live"))
    form = edit()
    assert form.get_by_role("textbox", name="Announcement").input_value() == "This call is recorded."
    form.get_by_role("textbox", name="Announcement").fill("")
    form.get_by_role("button", name="Save").click()
    form.wait_for(state="hidden")
    assert "announce" not in daemon.room("annexe")["definition"]

    # The file wins, and the log says so once.
    daemon.write({**daemon.rooms, "annexe": {"url": "socketio+http://127.0.0.1:9/file", "join": "on-demand"}})
    daemon.restart()
    assert daemon.room("annexe")["url"].endswith("/file") and daemon.room("annexe")["origin"] == "configuration"
    assert len(daemon.log("added through the API")) == 1, daemon.process.story()
    daemon.restart()
    assert daemon.log("added through the API") == []
    dashboard.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_level_of_audio_is_shown(stage, browser, scheme):
    daemon = Daemon(stage, {})
    dashboard = Dashboard(browser, daemon.url, PHONE, scheme)
    levels = {"Ann": -20, "Ben": None, "Cid": -90}
    tracks = [{"number": number, "participant": name, "kind": "audio", "codec": "opus", "units": 9, "bytes": 9, "lostPackets": 0,
               "keyframeRequests": 0, "open": True, "sound": {"levelDecibels": level, "silentSeconds": 0}}
              for number, (name, level) in enumerate(levels.items(), 1)]
    tracks.append({**tracks[0], "number": 4, "kind": "video", "codec": "vp8", "sound": None})
    people = [{"id": name, "shownName": name, "connected": True} for name in (*levels, "Dan")]
    room = {"name": "standup", "url": "-", "join": "always", "origin": "api", "phase": "joined", "restarts": 0,
            "since": "2026-11-21T03:12:26Z", "status": {
                "joined": True, "recordingState": "recording", "counters": {}, "tracks": tracks, "participants": people,
                "recording": {"id": "r", "part": 1, "folder": "recordings/standup/20261121T031226Z-r"}}}
    fulfil(dashboard.page, "/v1/rooms", {"rooms": [room]})
    page = dashboard.open()
    meters = see(dashboard.card("standup")).get_by_role("meter")
    see(meters.first)
    assert meters.count() == 3
    assert [float(meters.nth(index).evaluate("meter => meter.value")) for index in range(3)] == [-20, -60, -60]
    assert page.get_by_role("meter", name="Audio level of Ann").get_attribute("title") == "-20 dB"
    # Before the first image: a camera for the one who sends video.
    icons = dashboard.card("standup").locator(".still use")
    assert icons.evaluate_all("all => all.map(use => use.getAttribute('href'))") == ["#i-video"] + 3 * ["#i-audio"]
    assert re.fullmatch(r"\d+:\d\d:\d\d", see(page.locator(".clock")).inner_text())
    check_layout(page, PHONE["width"])
    check_accessible(page)
    assert dashboard.errors == []
    dashboard.close()


def pretend_cluster(dashboard, daemon):
    """Four hosts: this one, one that does not answer and has a room, one that is drained, and one with a long name and a problem."""
    since = "2026-11-21T03:12:26Z"
    hosts = [{"name": name, "labels": {}, "capacity": 40, "load": load, "rooms": load, "draining": name == "c", "stopping": False,
              "since": since} for name, load in (("a", 12), ("b", 1), ("c", 0))]
    hosts.append({**hosts[0], "name": "d" * 63, "problem": "its record is of a later version"})
    status = {"joined": False, "recordingState": "off", "counters": {}, "tracks": [], "participants": []}
    room = {"url": "socketio+https://rtc.example.org/hall", "join": "", "origin": "cluster", "restarts": 0, "status": status}
    silent = "it does not answer in time"
    for path, answer in {
        "/v1/overview": {**daemon.get("/v1/overview"), "host": "a"},
        "/v1/cluster": {"name": "calls", "host": "a", "connected": False, "since": since, "hosts": hosts, "rooms": [],
                        "reason": "Connection refused."},
        "/v1/rooms": {"incomplete": [{"host": "b", "reason": silent}], "rooms": [
            {**room, "name": "hall", "host": "b", "phase": "joined", "reason": f"the host b does not answer: {silent}"},
            {**room, "name": "none", "phase": "idle", "reason": "no host has room for it"}]},
    }.items():
        fulfil(dashboard.page, path, answer)


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [360, 390, 768, 1440])
def test_hosts_fit_any_screen(stage, browser, width, scheme):
    daemon = Daemon(stage, {})
    dashboard = Dashboard(browser, daemon.url, {"width": width, "height": 844}, scheme)
    pretend_cluster(dashboard, daemon)
    page = dashboard.open()
    hosts = see(page.get_by_role("list", name="Hosts")).get_by_role("listitem")
    see(hosts.filter(has_text="Does not answer").get_by_text("it does not answer in time"))
    states = {name: hosts.nth(index).locator(".pill").inner_text() for index, name in enumerate("abcd")}
    assert states == {"a": "Alive", "b": "Does not answer", "c": "Draining", "d": "Alive"}
    # Nothing is claimed of a room whose host is silent, and one without a host is idle.
    card = dashboard.card("hall")
    assert card.locator(".pill:visible").all_inner_texts() == ["Unknown"]
    see(card.get_by_text("The host b does not answer: it does not answer in time"))
    assert card.locator(".phase").get_attribute("title") == "Before: Joined"
    for text in ("Not in the room", "no worker", "0 restarts"):
        assert card.get_by_text(text).locator("visible=true").count() == 0, text
    assert dashboard.card("none").locator(".pill:visible").all_inner_texts() == ["Idle"]
    check_layout(page, width)
    check_accessible(page)
    assert dashboard.errors == []
    dashboard.close()


def fulfil(page, path, answer, status=200):
    page.route(re.compile(re.escape(path) + r"(\?.*)?$"), lambda route: route.fulfill(
        status=status, body=json.dumps(answer), content_type="application/json"))


def test_recordings_are_turned_page_by_page(stage, browser):
    daemon = Daemon(stage, {})
    dashboard = Dashboard(browser, daemon.url, PHONE)
    asked = []

    def answer(route):
        query = urllib.parse.parse_qs(urllib.parse.urlsplit(route.request.url).query)
        asked.append(query)
        number = int(query.get("cursor", ["0"])[0])
        rows = [{"id": f"r{number}{index}", "room": f"page{number}", "start": "2026-11-21T07:00:00Z", "bytes": 1,
                 "state": "finished", "participants": [], "tracks": [], "files": []} for index in range(25)]
        route.fulfill(body=json.dumps({"recordings": rows, **({"next": str(number + 1)} if number < 2 else {})}),
                      content_type="application/json")
    dashboard.page.route(re.compile(r"/v1/recordings\?"), answer)
    page = dashboard.open("recordings")
    rows = page.get_by_role("list", name="Recordings").locator("> li")
    older, newer = page.get_by_role("button", name="Older"), page.get_by_role("button", name="Newer")
    for number in (0, 1):
        see(rows.filter(has_text=f"page{number}").first)
        assert rows.count() == 25
        older.click()
    see(page.get_by_text("Page 3"))
    assert older.is_disabled() and newer.is_enabled()
    newer.click()
    see(page.get_by_text("Page 2"))
    # A filter begins again.
    page.get_by_role("searchbox", name="Search").fill("x y")
    see(page.get_by_text("Page 1"))
    assert asked[-1]["text"] == ["x y"] and "cursor" not in asked[-1]
    # A second click before the page is there does not turn another one.
    older.evaluate("button => { button.click(); button.click(); }")
    see(page.get_by_text("Page 2"))
    assert asked[-1]["cursor"] == ["1"]
    assert dashboard.errors == []
    dashboard.close()


@pytest.mark.parametrize("viewport", [DESKTOP, PHONE], ids=["desktop", "phone"])
def test_webhooks_say_what_they_try_again_and_what_they_gave_up(stage, browser, viewport):
    """One receiver is gone, and then takes what it is asked to take again; nobody listens at the other's port."""
    sink = stage.start("sink", python("socketio5"), PEERS / "webhook_sink.py", "--secret", TOKEN, "--status", "410",
                       "--status", "204")
    gone, down = sink.wait_for_event("listening")["port"], free_port()
    daemon = Daemon(stage, {}, webhooks=[
        {"url": f"http://127.0.0.1:{port}/hook", "secret": TOKEN, "events": ["room.added"]} for port in (gone, down)])
    dashboard = Dashboard(browser, daemon.url, viewport)
    page = dashboard.open()
    webhooks = page.get_by_role("region", name="Webhooks")
    see(webhooks.get_by_role("list", name="Webhooks").get_by_text("Good", exact=True).nth(1))
    check_accessible(page)
    daemon.post("/v1/rooms", {"name": "a", "definition": {"url": "socketio+http://127.0.0.1:9/a", "join": "on-demand"}})
    failing = webhooks.get_by_role("listitem").filter(has_text=f"127.0.0.1:{down}")
    see(failing.get_by_text("Tries again"))
    # However many it has made by the time the page is looked at.
    see(failing.get_by_text(re.compile(r"\d+ attempts? failed, next (in .*\d.*|now): .*\w")))
    letter = webhooks.get_by_role("list", name="Failed for good").get_by_role("listitem")
    see(letter.get_by_text(re.compile(r"^1 attempt: .*410")))
    assert f"to http://127.0.0.1:{gone}" in letter.inner_text()
    check_layout(page, viewport["width"])
    check_accessible(page)
    walk_by_keyboard(page, "#webhooks-section")
    letter.get_by_role("button", name=re.compile("^Try again room.added")).press("Enter")
    letter.wait_for(state="detached")
    sink.wait_for("the delivery", lambda: [
        fact["status"] for fact in sink.facts if fact["event"] == "delivery"] == ["410", "204"])
    page.wait_for_function("() => document.activeElement.id === 'webhooks-title'")
    see(webhooks.get_by_role("listitem").filter(has_text=f"127.0.0.1:{gone}").get_by_text("Good", exact=True))
    assert dashboard.errors == [] and dashboard.foreign == []
    dashboard.close()


def test_names_from_outside_stay_text(stage, browser):
    daemon = Daemon(stage, {})
    dashboard = Dashboard(browser, daemon.url, PHONE)
    track = {"number": 1, "participant": HOSTILE, "kind": "video", "codec": HOSTILE, "width": 1, "height": 1,
             "units": 9,
             "bytes": 9, "lostPackets": 0, "keyframeRequests": 0, "open": True}
    room = {"name": HOSTILE, "url": HOSTILE, "join": HOSTILE, "origin": HOSTILE, "phase": "joined", "reason": HOSTILE,
            "since": HOSTILE, "restarts": 0, "status": {
                "joined": True, "recordingState": "recording", "counters": {}, "tracks": [track],
                "participants": [{"id": HOSTILE, "connected": True}, {"id": "x" * 500, "connected": True}]}}
    recording = {"id": "hostile", "room": HOSTILE, "start": HOSTILE, "bytes": 1, "state": "finished",
                 "verdict": HOSTILE,
                 "participants": [HOSTILE], "tags": [HOSTILE], "notes": HOSTILE, "tracks": [track],
                 "files": [{"name": HOSTILE, "bytes": 1, "type": HOSTILE}],
                 "certificate": {"verdict": HOSTILE, "durationSeconds": 1, "gaps": [HOSTILE], "damage": [HOSTILE],
                                 "files": [{"name": HOSTILE, "bytes": 1, "sha256": HOSTILE}]}}
    export = {"id": "e", "recording": "hostile", "layout": HOSTILE, "state": "failed", "progress": 0, "error": HOSTILE}
    answers = {
        "/v1/rooms": {"rooms": [room, {**room, "name": "failed", "phase": "failed"}]},
        "/v1/recordings": {"recordings": [recording]},
        "/v1/recordings/hostile": recording,
        "/v1/recordings/hostile/exports": {"exports": [export]},
        "/v1/recordings/hostile/timeline": {"durationSeconds": 9, "participants": [
            {"id": HOSTILE, "name": HOSTILE, "present": [{"from": 0, "to": 9}], "gaps": []}],
            "events": [{"at": 1, "kind": "mark", "text": HOSTILE}, {"at": 2, "kind": "joined", "name": HOSTILE}]},
    }
    for path, answer in answers.items():
        fulfil(dashboard.page, path, answer)
    page = dashboard.open()
    card = see(dashboard.card(HOSTILE))
    assert HOSTILE in card.inner_text()
    see(page.get_by_role("article", name="failed").get_by_text(HOSTILE).first)
    check_layout(page, PHONE["width"])
    page.get_by_role("link", name="Recordings").click()
    page.get_by_role("list", name="Recordings").get_by_role("link", name=HOSTILE).click()
    details = see(page.get_by_role("region", name=HOSTILE))
    see(details.get_by_role("list", name="Exports").get_by_text(HOSTILE).first)
    daemon.wait_for("all of them", lambda: details.inner_text().count("onerror") >= 11)
    check_layout(page, PHONE["width"])
    assert page.evaluate("window.hacked") is None
    assert page.locator("script:not([src]), img[onerror]").count() == 0
    assert dashboard.foreign == []
    dashboard.close()


def test_people_are_shown_by_name(stage, browser):
    daemon = Daemon(stage, {})
    dashboard = Dashboard(browser, daemon.url, DESKTOP)
    people = [("x1", "Ann"), ("x2", "Ann (2)"), ("x3", "Zoë")]
    tracks = [{"number": number, "participant": identity, "name": shown, "kind": "audio", "codec": "opus", "units": 9, "bytes": 9,
               "lostPackets": 0, "keyframeRequests": 0, "open": True}
              for number, (identity, shown) in enumerate(people, 1)]
    room = {"name": "standup", "url": "-", "join": "always", "origin": "configuration", "phase": "joined", "restarts": 0,
            "since": "2026-11-21T03:12:26Z", "status": {
                "joined": True, "recordingState": "recording", "counters": {}, "tracks": tracks, "participants": [
                    {"id": identity, "name": shown.split(" ")[0], "shownName": shown, "connected": True}
                    for identity, shown in people]}}
    recording = {"id": "r", "room": "standup", "start": "2026-11-21T03:12:26Z", "bytes": 1, "state": "finished",
                 "participants": [shown for _, shown in people], "tags": [], "tracks": tracks, "files": []}
    for path, answer in {"/v1/rooms": {"rooms": [room]}, "/v1/recordings": {"recordings": [recording]},
                         "/v1/recordings/r": recording, "/v1/recordings/r/exports": {"exports": []},
                         "/v1/recordings/r/timeline": {"durationSeconds": 9, "participants": [], "events": []}}.items():
        fulfil(dashboard.page, path, answer)
    page = dashboard.open()
    card = see(dashboard.card("standup"))
    for identity, shown in people:
        see(card.get_by_text(shown, exact=True))
        assert identity not in card.inner_text()
    page.get_by_role("link", name="Recordings").click()
    recordings = page.get_by_role("list", name="Recordings")
    see(recordings.get_by_text(", ".join(shown for _, shown in people), exact=True))
    recordings.get_by_role("link", name="standup").click()
    details = see(page.get_by_role("region", name="standup"))
    for identity, shown in people:
        see(details.get_by_text(shown, exact=True).locator("visible=true").first)
        assert details.locator(f"option[value={identity}]").all_inner_texts() == [shown]
    assert dashboard.foreign == []
    dashboard.close()


def test_a_token_is_asked_for_where_there_is_one(stage, browser):
    daemon = Daemon(stage, {}, api={"listen": "127.0.0.1:0", "token": TOKEN})
    dashboard = Dashboard(browser, daemon.url, PHONE)
    page = dashboard.open()
    token = see(page.get_by_label("Token", exact=True))
    assert page.locator("#application").is_hidden()
    assert dashboard.errors == []
    check_accessible(page)
    check_layout(page, PHONE["width"])
    dashboard.expected = 401
    token.fill("wrong")
    page.keyboard.press("Enter")
    see(page.get_by_role("alert").get_by_text("The token is not known."))
    token.fill(TOKEN)
    page.get_by_role("button", name="Log in").click()
    see(page.get_by_text("There is no room yet."))
    see(page.locator("#connection", has_text="Live"))
    assert TOKEN not in page.content()
    assert TOKEN not in page.evaluate("JSON.stringify({...localStorage}) + document.cookie")
    page.reload()
    see(page.get_by_text("There is no room yet."))
    # The daemon does not answer: nobody is logged out.
    dashboard.expected = "401|503"
    refuse = "**/v1/session"
    page.route(refuse, lambda route: route.fulfill(status=503, body="{}") if route.request.method == "DELETE"
               else route.continue_())
    page.get_by_role("button", name="Log out").click()
    see(page.get_by_role("alert").get_by_text("You are still logged in"))
    assert page.locator("#application").is_visible() and token.is_hidden()
    page.unroute(refuse)
    page.get_by_role("button", name="Log out").click()
    see(token)
    page.reload()
    see(token)
    assert dashboard.errors == [] and dashboard.foreign == []
    dashboard.close()
