# SPDX-License-Identifier: Apache-2.0
"""Calls between hosts that cannot reach each other, through Debian's coturn; and one over IPv6.

Three network namespaces: Tapedeck, the peer, and between them a router that forwards nothing and on which the room's
server and coturn run.
"""

import json
import re
import signal
import subprocess
import time

import media
import network
import pytest
from figures import assert_count, assert_plays, assert_whole, losses, video_packets
from peers import room_url
from recordings import interrupted, recorded, recording_folder, wait_for_media, wait_for_more, wait_for_silence
from stage import LIMIT, PEERS, free_port, json_objects, python

USER, PASSWORD = "carrot", "p@ss:w/örd%"
RELAY_NAME = "turn.tapedeck.test"
ROOM = "behind"
CUT_SECONDS = 20
# Longer than any limit of a call that lost its path.
LONG_CUT_SECONDS = 45


@pytest.fixture(scope="module")
def certificates(tmp_path_factory):
    """An authority of our own, and a certificate for the relay's name."""
    folder = tmp_path_factory.mktemp("certificates")

    def openssl(*arguments):
        subprocess.run(["openssl", *arguments], cwd=folder, check=True, capture_output=True, timeout=LIMIT)

    openssl("req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", "ca.key", "-out", "ca.pem", "-days", "2",
            "-subj", "/CN=Tapedeck test authority")
    openssl("req", "-newkey", "rsa:2048", "-nodes", "-keyout", "key.pem", "-out", "request.pem", "-subj",
            f"/CN={RELAY_NAME}")
    (folder / "extensions").write_text(f"subjectAltName=DNS:{RELAY_NAME}\n")
    openssl("x509", "-req", "-in", "request.pem", "-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial", "-days", "2",
            "-extfile", "extensions", "-out", "certificate.pem")
    (folder / "hosts").write_text(f"127.0.0.1 localhost\n{network.Network.router('a')} {RELAY_NAME}\n")
    return folder


@pytest.fixture
def world(stage, net, certificates):
    """Starts programs on the hosts of the network."""
    return World(stage, net, certificates)


class World:
    def __init__(self, stage, net, certificates):
        self.stage, self.net, self.certificates = stage, net, certificates
        net.without_rules("cut")
        net.without_rules("forward")
        net.without_rules("translate")
        net.rule("forward", "counter name direct")
        self.forwarded = net.direct_packets()

    def room_server(self):
        server = self.stage.start("room", *self.net.inside(
            "r", python("socketio5"), PEERS / "socketio_room_server.py", "--host", "0.0.0.0"))
        self.port = server.wait_for_port()
        return server

    def coturn(self, role="r", addresses=(network.Network.router("a"), network.Network.router("a", 6))):
        folder = self.certificates
        listening = [argument for address in addresses for argument in ("--listening-ip", address)]
        relay = self.stage.start("coturn", *self.net.inside(
            role, "turnserver", "-n", "--lt-cred-mech", "--user", f"{USER}:{PASSWORD}", "--realm", "tapedeck.test",
            *listening, "--relay-ip", addresses[0], "--cert", folder / "certificate.pem", "--pkey", folder / "key.pem",
            "--no-cli", "--log-file", "stdout", "--pidfile", self.stage.folder / "coturn.pid",
            "--db", self.stage.folder / "coturn.db", "--no-dtls"))
        listens = self.net.inside(role, "ss", "-Hltn", "sport", "=", ":5349")
        relay.wait_for("port", lambda: network.run(*listens).strip(), LIMIT)
        return relay

    def peer(self, *flags):
        """aiortc on host b, with video and audio."""
        peer = self.stage.start("aiortc", *self.net.inside(
            "b", python("peers"), PEERS / "aiortc_peer.py", "--url",
            f"http://{self.net.router('b')}:{self.port}", "--room", ROOM, "--eio", "4", "--transport", "websocket",
            "--send", "synthetic", "--size", "320x180", "--tell-remote", *flags))
        peer.wait_for_event("joined", LIMIT)
        return peer

    def record(self, *flags):
        """Records until there are video and audio, and exports."""
        recorder = self.recorder(*flags)
        wait_for_media(recorder, self.stage.folder / "storage")
        return interrupted(recorder)

    def recorder(self, *flags):
        """`tapedeck record` on host a, which knows the relay's name and authority."""
        stage, folder = self.stage, self.certificates
        self.exported = stage.folder / "call.mkv"
        files = (f"mount --bind {folder}/hosts /etc/hosts && "
                 f"mount --bind {folder}/ca.pem /etc/ssl/certs/ca-certificates.crt && exec \"$@\"")
        return stage.start("tapedeck-record", *self.net.inside(
            "a", "unshare", "--mount", "env", f"TAPEDECK_TURN_PASSWORD={PASSWORD}", "sh", "-c", files, "sh",
            stage.tapedeck_path, "record", f"socketio+http://{self.net.router('a')}:{self.port}/{ROOM}",
            "--wait", f"{LIMIT}s", "--directory", stage.folder / "storage", "--output", self.exported, "--json",
            "--turn-username", USER, *flags))


def paths(recorder):
    """The log's messages about the paths of media."""
    return [line for line in recorder.messages.splitlines() if "media path" in line]


def remote(path):
    """The peer's address and port in such a line."""
    return re.search(r"path\.remote=\"?\w+ (\S+)/udp", path)[1]


def test_ports_are_of_the_range(stage):
    """`--port-range`, for operators that must open ports."""
    server = stage.serve()
    stage.tapedeck("camera", room_url(server, ROOM), "--codec", "vp8", "--video", "test", "--size", "320x180")
    first = free_port()
    recorder = stage.tapedeck("record", room_url(server, ROOM), "--directory", stage.folder / "storage", "--output",
                              stage.folder / "call.mkv", "--port-range", f"{first}-{first + 9}")
    wait_for_media(recorder, stage.folder / "storage")
    interrupted(recorder)
    local = [int(re.search(r"path\.local=\"?host \S+:(\d+)/", path)[1]) for path in paths(recorder)]
    assert local and all(first <= port <= first + 9 for port in local), recorder.story()


def assert_relayed(recorder, server, address="10.77.1.1"):
    path = paths(recorder)
    assert path, f"no media path in the log\n{recorder.story()}"
    assert re.search(rf"path\.local=.?relay {re.escape(address)}:\d+/udp", path[-1]), path
    assert server in path[-1], path
    assert PASSWORD not in recorder.messages + recorder.output, "a password is in the log"


def candidates_told(peer):
    """The messages of ours to the peer, and the candidates in them."""
    texts = [fact["text"] for fact in peer.facts if fact.get("event") == "remote"]
    candidates = [line for text in texts for line in text.splitlines() if "candidate:" in line]
    assert candidates, peer.story()
    return texts, candidates


def assert_tells_relays_only(peer):
    """Nothing that we sent names an address of ours."""
    texts, candidates = candidates_told(peer)
    assert all("typ relay raddr 0.0.0.0 rport 0" in line for line in candidates), candidates
    assert not any("10.77.1.2" in text or "fd77:1::2" in text for text in texts), texts


@pytest.mark.parametrize("url, flags", [
    pytest.param("turn:[fd77:1::1]:3478?transport=tcp", (), marks=pytest.mark.long),
    pytest.param(f"turn:{RELAY_NAME}:3478?transport=tcp", ("--relay-only",), marks=pytest.mark.long),
    (f"turns:{RELAY_NAME}:5349", ("--relay-only",)),
], ids=["tcp", "tcp only", "tls"])
def test_relayed_over_a_connection(world, url, flags):
    world.room_server()
    world.coturn()
    peer = world.peer()
    recorder = world.record("--ice-server", url, *flags)
    peer.wait_for_event("closed", LIMIT)
    assert peer.end(LIMIT) == 0
    assert_relayed(recorder, url)
    assert_whole(world.exported, recorder)
    if flags:
        assert_tells_relays_only(peer)


def test_behind_address_translation(world):
    """Our outside address is found and sent, and where it does not help the relay is used, without a request for it."""
    outside = world.net.host("b")
    world.net.rule("translate", 'oifname "to-b" masquerade')
    world.net.rule("forward", "udp dport 3478 accept")
    world.net.rule("forward", "udp sport 3478 accept")
    world.room_server()
    world.coturn("b", [outside])
    peer = world.peer()
    recorder = world.record("--ice-server", f"stun:{outside}", "--ice-server", f"turn:{outside}")
    peer.wait_for_event("closed", LIMIT)
    assert peer.end(LIMIT) == 0
    _, candidates = candidates_told(peer)
    assert any(f" {world.net.host('a')} " in line and "typ host" in line for line in candidates), candidates
    for kind, address in (("srflx", world.net.router("b")), ("relay", outside)):
        assert any(re.search(rf" {re.escape(address)} \d+ typ {kind}", line) for line in candidates), candidates
    assert_relayed(recorder, f"turn:{outside}", outside)
    assert_whole(world.exported, recorder)


@pytest.mark.long
@pytest.mark.media
def test_the_call_comes_back_after_a_minute_without_a_network(world):
    """The link is taken away, signalling and all; the call is reset, and both halves are in the recording."""
    world.net.rule("forward", "accept")
    world.room_server()
    peer = world.peer()
    recorder = world.recorder("--duration", f"{5 + LONG_CUT_SECONDS + 60}s")
    recorder.wait_for("media path", lambda: paths(recorder), LIMIT)
    time.sleep(5)
    world.net.connect("a", False)
    time.sleep(LONG_CUT_SECONDS)
    world.net.connect("a", True)
    recorder.wait_for("another media path", lambda: len(paths(recorder)) > 1, LIMIT)
    time.sleep(5)
    recorder.signal(signal.SIGINT)
    recorded(recorder)
    peer.end()
    assert "call reset" in recorder.messages, recorder.story()
    folder = recording_folder(world.stage.folder / "storage")
    assert_plays(world.exported)
    # One track for both halves, and the certificate names what is between them.
    video, = media.streams(world.exported, "video")
    began, ended = media.span(world.exported, video["index"])
    assert ended - began > LONG_CUT_SECONDS + 6, f"{began} {ended}\n{recorder.story()}"
    certificate = json.loads((folder / "manifest.json").read_text())["certificate"]
    assert certificate["verdict"] == "complete-with-gaps"
    found = [finding["text"] for finding in certificate["findings"] if finding["kind"] == "not-connected"]
    assert len(found) == 2 and all(int(re.search(r"for (\d+) ms", text)[1]) > 1000 * (LONG_CUT_SECONDS - 2) for text in found), (
        certificate["findings"])


@pytest.mark.long
@pytest.mark.media
def test_relayed_over_datagrams_and_a_path_that_is_cut(world):
    """Media are lost for 20 s; the recording continues, and so does the call."""
    world.room_server()
    world.coturn()
    peer = world.peer()
    server = f"turn:{RELAY_NAME}:3478"
    recorder = world.recorder("--duration", f"{7 + CUT_SECONDS + 8}s", "--ice-server", server, "--relay-only")
    recorder.wait_for("media path", lambda: paths(recorder), LIMIT)
    time.sleep(5)
    world.net.rule("cut", "meta l4proto udp drop")
    time.sleep(CUT_SECONDS)
    world.net.without_rules("cut")
    recorder.wait_for("the peer again", lambda: "peer is heard again" in recorder.messages, LIMIT)
    recorded(recorder)
    peer.end()
    assert_relayed(recorder, server)
    assert_tells_relays_only(peer)
    assert world.net.direct_packets() == world.forwarded, "packets went past the relay"
    recording_folder(world.stage.folder / "storage")
    video, = media.streams(world.exported, "video")
    times = [packet.time for packet in media.packets(world.exported, video["index"])]
    pauses = [(before, after) for before, after in zip(times, times[1:]) if after - before > 5]
    assert len(pauses) == 1, f"{pauses}\n{recorder.story()}"
    (before, after), = pauses
    assert before > 3 and after - before >= CUT_SECONDS - 2 and times[-1] - after > 3, f"{pauses} of {times[-1]}"


def test_over_ipv6(world):
    """Where only IPv6 leads from host to host."""
    world.net.rule("forward", "meta nfproto ipv6 accept")
    world.room_server()
    peer = world.peer()
    recorder = world.record()
    peer.wait_for_event("closed", LIMIT)
    assert peer.end(LIMIT) == 0
    assert re.search(r"path\.local=.?host \[fd77:1::2\]:\d+/udp", paths(recorder)[-1]), paths(recorder)
    assert_whole(world.exported, recorder)


@pytest.fixture
def crowded(world):
    """Host a has 70 more addresses, as one with many bridges: libnice's list begins with them."""
    def a(*command):
        world.net.run("a", *command)
    a("ip", "link", "add", "crowd", "type", "veth", "peer", "name", "crowd-end")
    for interface in ("crowd", "crowd-end"):
        a("ip", "link", "set", interface, "up")
    for last in range(1, 71):
        a("ip", "address", "add", f"198.51.100.{last}/32", "dev", "crowd")
    yield world
    a("ip", "link", "delete", "crowd")


@pytest.mark.parametrize("flags", [(), ("--host-address", network.Network.host("a"))], ids=["any", "given"])
def test_a_host_with_many_addresses(crowded, flags):
    """libnice ended the process where an address was the 65th of the host, even if it was configured to use a given
    one."""
    world = crowded
    world.net.rule("forward", "accept")
    world.room_server()
    peer = world.peer()
    recorder = world.record(*flags)
    peer.wait_for_event("closed", LIMIT)
    assert peer.end(LIMIT) == 0
    # The address that has the default routes, of either family where both are gathered.
    own = re.escape(world.net.host("a")) if flags else rf"({re.escape(world.net.host('a'))}|\[fd77:1::2\])"
    local = rf"path\.local=.?host {own}:\d+/udp"
    assert re.search(local, paths(recorder)[-1]), paths(recorder)
    assert_whole(world.exported, recorder)
    left_out = [line for line in recorder.messages.splitlines() if "more addresses than" in line]
    if flags:
        assert not left_out, left_out
    else:
        line, = left_out
        told = re.search(r"32 are used, (\d+) are left out", line)
        assert told and 70 < int(told[1]) + 32 < 80, line


def test_a_browser_restarts_ice(stage):
    """The call and the recording continue over the browser's new ports."""
    server = stage.room_server(5)
    peer = stage.browser(server, ROOM, "--send", "--fps", "15", "--size", "320x180")
    exported, storage = stage.folder / "call.mkv", stage.folder / "storage"
    recorder = stage.tapedeck("record", room_url(server, ROOM), "--until-empty", "--directory", storage,
                              "--output", exported, "--json")
    recorder.wait_for("media path", lambda: paths(recorder), LIMIT)
    wait_for_media(recorder, storage)
    # Several paths may be tried before one stays.
    known = {remote(path) for path in paths(recorder)}
    peer.tell("restart")
    recorder.wait_for("another path", lambda: remote(paths(recorder)[-1]) not in known, LIMIT)
    # The recording continues over it.
    wait_for_more(recorder, storage)
    # The packets counted after it are all that were sent.
    peer.tell("silence")
    peer.wait_for_event("silent", LIMIT)
    wait_for_silence(recorder, storage)
    peer.tell("leave")
    closed = peer.wait_for_event("closed", LIMIT)
    assert peer.wait(LIMIT) == 0
    recorded(recorder)
    assert "changed" in paths(recorder)[-1] and remote(paths(recorder)[-1]) not in known, paths(recorder)
    assert "call rebuilt" not in recorder.messages and "call reset" not in recorder.messages, recorder.story()
    recording_folder(storage)
    assert_plays(exported)
    assert_count(video_packets(exported), closed["framesSent"], losses(recorder),
                 recorder.story())


def test_a_browser_hides_its_addresses(stage):
    """Every candidate of its offer is a `.local` name; the call connects, and the log says how."""
    server = stage.room_server(5)
    peer = stage.browser(server, ROOM, "--send", "--mdns", "--fps", "15", "--size", "320x180")
    exported, trace = stage.folder / "call.mkv", stage.folder / "call.jsonl"
    recorder = stage.tapedeck("record", room_url(server, ROOM), "--directory", stage.folder / "storage", "--output",
                              exported, "--json", "--trace-signalling", trace)
    # It has video only.
    wait_for_media(recorder, stage.folder / "storage", 1)
    interrupted(recorder)
    closed = peer.wait_for_event("closed", LIMIT)
    assert peer.end(LIMIT) == 0
    told = [fact["candidate"] for fact in json_objects(trace.read_text().splitlines())
            if fact.get("event") == "candidateReceived"]
    assert told and all(re.search(r" \S+\.local \d+ typ host", line) for line in told), told
    # Without a look-up the browser's checks came to us.
    kinds = "prflx" if "which this host cannot look up" in recorder.messages else "(host|prflx)"
    chosen = paths(recorder)
    assert chosen and all(re.search(rf'path\.remote="{kinds} ', path) for path in chosen), chosen
    assert_plays(exported)
    assert 0 < video_packets(exported) <= closed["framesSent"] + 3, recorder.story()
