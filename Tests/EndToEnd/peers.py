# SPDX-License-Identifier: Apache-2.0
"""Foreign peers of a test: where they join, and what they did."""

import signal

from stage import LIMIT


def room_url(server, room, **query):
    """The room URL of a server."""
    text = "&".join(f"{key}={value}" for key, value in query.items())
    return f"socketio+http://{server.address}:{server.port}/{room}" + (f"?{text}" if text else "")


def caught_up(peer, recorder):
    """Waits until a recorder has taken what an aiortc peer has sent: it may not have had the processor."""
    peer.signal(signal.SIGSTOP)
    try:
        # One thread may hand its work to another between two looks.
        recorder.wait_for("its turn", lambda: not any(recorder.has_work for _ in range(3)))
    finally:
        peer.signal(signal.SIGCONT)


def change(peer, name):
    """Has the peer change the call, and waits until it has offered that."""
    done = sum(fact.get("event") == "changed" for fact in peer.facts)
    peer.tell(name)
    peer.wait_for(name, lambda: sum(fact.get("event") == "changed" for fact in peer.facts) > done, LIMIT)


def lateness(process):
    """By how many seconds a sender of the same test was late at most: its media clock stood still for as long."""
    return max((fact["seconds"] for each in process.beside for fact in each.facts if fact.get("event") == "late"), default=0)


def wait_until_seen(peer, notes, video=45, audio=75):
    """Waits until a peer with --notes has decoded this many frames, and this much audio, of ours."""
    def has_seen():
        text = notes.read_text() if notes.exists() else ""
        return text.count('"kind": "video"') >= video and text.count('"kind": "audio"') >= audio
    peer.wait_for("our pictures and sound", has_seen, LIMIT)
