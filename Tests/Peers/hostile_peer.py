#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A room member that sends messages that no peer should: descriptions that do not parse, candidates and answers out of
turn, unknown and malformed messages. Sends one round to the first member that joins (or is there), then leaves and
ends.

Runs in .venv/socketio5 (or, with an Engine.IO 3 server, .venv/socketio4).

Example: .venv/socketio5/bin/python Tests/Peers/hostile_peer.py --url http://127.0.0.1:3000 --room 1 --case garbage-sdp
"""

import argparse
import asyncio
import json
import sys

import socketio

import patient_client

CANDIDATE = "candidate:1 1 udp 2130706431 192.0.2.7 50000 typ host"
FINGERPRINT = "sha-256 " + ":".join(["AB"] * 32)


def sdp(*sections, session=("a=ice-ufrag:abcd", "a=ice-pwd:abcdefghijklmnopqrstuvwx", "a=setup:actpass",
                            f"a=fingerprint:{FINGERPRINT}"), name="1"):
    lines = ["v=0", f"o=- {name} 2 IN IP4 127.0.0.1", "s=-", "t=0 0", *session]
    for number, section in enumerate(sections):
        lines += section + [f"a=mid:{number}"]
    return "\r\n".join(lines) + "\r\n"


VIDEO = ["m=video 9 UDP/TLS/RTP/SAVPF 96", "c=IN IP4 0.0.0.0", "a=rtcp-mux", "a=sendonly", "a=rtpmap:96 VP8/90000"]
STRANGE_CODEC = [line.replace("VP8", "XYZ9") for line in VIDEO]
TEXT = ["m=text 9 UDP/TLS/RTP/SAVPF 98", "c=IN IP4 0.0.0.0", "a=sendonly", "a=rtpmap:98 t140/1000"]
SDES = ["m=video 9 RTP/SAVPF 96", "c=IN IP4 0.0.0.0", "a=rtcp-mux", "a=sendonly", "a=rtpmap:96 VP8/90000",
        "a=crypto:1 AES_CM_128_HMAC_SHA1_80 inline:" + "A" * 40]
ICE_ONLY = ("a=ice-ufrag:abcd", "a=ice-pwd:abcdefghijklmnopqrstuvwx")


def offer(text):
    return {"type": "offer", "sdp": text}


def candidate(**fields):
    return {"type": "candidate", "label": 0, "id": "0", "candidate": CANDIDATE, **fields}


# Each case is the `data` of messages in turn.
CASES = {
    "garbage-sdp": [offer("x" * 2000), offer(""), offer("v=0"), offer("\0\0\0"), offer("v=0\r\n" * 500),
                    offer(sdp(VIDEO).replace("96", "999999999999999999999")), offer(sdp(VIDEO)[:150]),
                    offer("m=video 9 UDP/TLS/RTP/SAVPF\r\n" * 200), offer("ünïcødé 客厅 😀" * 50)],
    "wrong-types": [{"type": "offer"}, {"type": "offer", "sdp": None}, {"type": "offer", "sdp": 42},
                    {"type": "offer", "sdp": {"type": "offer"}}, {"type": "answer", "sdp": ["v=0"]}, {"type": None},
                    {"type": 7}, {}, [], None, "offer", 12, True, {"sdp": sdp(VIDEO)}, [[[[[[]]]]]]],
    "unknown-types": [{"type": "hangup"}, {"type": "OFFER", "sdp": "v=0"}, {"type": "x" * 10000}, {"type": "rollback"},
                      {"type": "pranswer", "sdp": sdp(VIDEO)}, {"type": ""}],
    "early-candidates": [candidate(label=label) for label in range(5)] + [candidate() for _ in range(2000)],
    "bad-candidates": [candidate(candidate=line) for line in
                       ("", " ", "candidate:", "candidate:1", "candidate:1 1 udp", "x" * 5000, CANDIDATE + " " * 3000,
                        "candidate:1 1 udp 99999999999999999999 192.0.2.7 50000 typ host",
                        "candidate:1 1 udp 1 192.0.2.7 99999999 typ host",
                        "candidate:1 1 udp 1 no.such.local 9 typ host",
                        "candidate:1 1 tcp 1 ::::: 9 typ host tcptype active", "candidate:-1 -1 udp -1 -1 -1 typ -1")]
    + [candidate(label=label) for label in (-1, 10**30, 0.5, 1e300, "0", "x", None, [], {}, True)]
    + [candidate(id=identifier) for identifier in (None, 0, "x" * 10000, {}, [])]
    + [{"type": "candidate"}, {"type": "candidate", "candidate": {"candidate": CANDIDATE, "sdpMLineIndex": 7}}],
    "unasked-answer": [{"type": "answer", "sdp": sdp(VIDEO)}] * 3,
    "no-usable-media": [offer(sdp()), offer(sdp(STRANGE_CODEC, name="2")), offer(sdp(TEXT, name="3"))],
    "sdes": [offer(sdp(SDES, session=ICE_ONLY))],
    "no-fingerprint": [offer(sdp(VIDEO, session=ICE_ONLY))],
    "many-offers": [offer(sdp(VIDEO, name=str(number))) for number in range(40)],
    "many-sections": [offer(sdp(*[VIDEO] * 300))],
    "abandoned-offer": [offer(sdp(VIDEO))],
}


async def attack(options):
    client = patient_client.make(socketio)
    someone = asyncio.Event()
    state = {}

    def joined(room, sid=None, details=None, *rest):
        details = details if isinstance(details, dict) else {}
        state["mesh"] = details.get("mesh") is True
        state["members"] = list(details.get("peers") or [])
        if state["members"]:
            someone.set()
        print(json.dumps({"event": "joined"}), flush=True)

    def otherjoin(room, sid=None, *rest):
        state.setdefault("members", []).append(sid)
        someone.set()

    client.on("joined", joined)
    client.on("otherjoin", otherjoin)
    client.on("message", lambda room, *rest: someone.set())
    await patient_client.connect(client, options.url)
    await client.emit("join", options.room)
    await asyncio.wait_for(someone.wait(), options.limit)
    for case in options.case or CASES:
        for data in CASES[case]:
            if not state.get("mesh"):
                await client.emit("message", (options.room, data))
                continue
            for member in state["members"]:
                addressed = {**data, "to": member} if isinstance(data, dict) else data
                await client.emit("message", (options.room, addressed))
        await asyncio.sleep(options.pause)
    # Arguments that are no room, or too many, or none.
    for arguments in ((), (None,), (options.room,), (options.room, {}, {}, {}), ({"room": options.room}, "x")):
        await client.emit("message", arguments)
    await client.emit("no-such-event", ("x" * 1000,))
    print(json.dumps({"event": "attacked"}), flush=True)
    await asyncio.sleep(options.stay)
    await client.emit("leave", options.room)
    await asyncio.sleep(0.3)
    await client.disconnect()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--url", required=True)
    parser.add_argument("--room", required=True)
    parser.add_argument("--case", action="append", choices=CASES, help="may be repeated; default: all")
    parser.add_argument("--pause", type=float, default=0.2, help="seconds between cases")
    parser.add_argument("--stay", type=float, default=1, help="seconds in the room afterwards")
    parser.add_argument("--limit", type=float, default=90, help="seconds to wait for somebody")
    options = parser.parse_args()
    try:
        asyncio.run(attack(options))
    except asyncio.TimeoutError:
        sys.exit("nobody came")


if __name__ == "__main__":
    main()
