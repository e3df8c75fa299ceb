# SPDX-License-Identifier: Apache-2.0
"""Senders as people met them who record calls with other recorders: each kind names the public report (reported_sender_peer.py)."""

import collections

import accounts
import media
import pytest
from accounts import account, assert_balances, assert_complete, certificate
from figures import AUDIO_PACKET, SLACK, assert_few_lost, assert_plays, assert_sound, assert_whole, losses
from peers import caught_up, lateness, room_url
from recordings import interrupted, recording_folder, start_recorder
from stage import LIMIT

# Media that a sender does not place exactly, in seconds: what people hear as in time.
IN_TIME = 0.04
pytestmark = pytest.mark.media


def recorded_from(stage, kind, *flags, **rest):
    codec = () if "--codec" in flags else ("--codec", "vp8")
    return accounts.recorded_from(stage, kind, *codec, *flags, program="reported_sender_peer.py", **rest)


def offsets_of(exported):
    video, sound = media.streams(exported, "video")[0], media.streams(exported, "audio")[0]
    return media.flash_to_beep(media.frames(exported, video["index"]), media.beeps(exported, sound["index"]))


def gaps(stage):
    return [finding["text"] for finding in certificate(stage)["findings"] if finding["severity"] == "gap"]


@pytest.mark.parametrize("kind", ["first-report", "no-reports", "half-reports", "strange-reports", "still-reports",
                                  "counted-reports", "later-reports", "uptime"])
def test_sender_reports_that_say_nothing_or_lie_move_nothing(stage, kind):
    exported, recorder, sent = recorded_from(stage, kind, until=("framesSent", 120))
    assert_whole(exported, recorder, sent)
    offsets = offsets_of(exported)
    assert len(offsets) >= 6 and max(map(abs, offsets)) < IN_TIME, (offsets, recorder.story())
    assert_complete(stage)


@pytest.mark.parametrize("codec", ["vp8", "h264"])
def test_frames_whose_time_stands_still_are_all_recorded(stage, codec):
    exported, recorder, sent = recorded_from(stage, "stuck-clock", "--codec", codec, until=("framesSent", 120))
    assert_plays(exported)
    assert_few_lost(exported, recorder)
    video, = media.streams(exported, "video")
    assert len(media.packets(exported, video["index"])) >= sent - SLACK, recorder.story()
    assert_balances(stage)


@pytest.mark.parametrize("codec", ["vp8", "h264"])
def test_frames_that_are_one_tick_apart_are_all_recorded(stage, codec):
    exported, recorder, sent = recorded_from(stage, "next-tick", "--codec", codec, until=("framesSent", 120))
    assert_whole(exported, recorder, sent)
    assert_complete(stage)


@pytest.mark.parametrize("codec", ["vp8", "h264"])
def test_packets_that_no_ethernet_carries_are_recorded_whole(stage, codec):
    exported, recorder, sent = recorded_from(stage, "large-packets", "--codec", codec, "--bitrate", "6000000", until=("framesSent", 90))
    assert_whole(exported, recorder, sent)
    peer, = [each for each in recorder.beside if each.name == "aiortc"]
    assert peer.event("odd")["packets"] > 50, peer.story()
    assert_complete(stage)


def test_what_comes_twice_is_recorded_once(stage):
    exported, recorder, sent = recorded_from(stage, "twice", until=("framesSent", 90))
    assert_whole(exported, recorder, sent)
    assert_complete(stage)


def test_two_videos_without_a_described_source_are_two_tracks(stage):
    exported, recorder, sent = recorded_from(stage, "no-sources", "--second-video", "1-60", until=("secondFramesSent", 60))
    assert_plays(exported)
    assert_few_lost(exported, recorder)
    videos = media.streams(exported, "video")
    assert len(videos) == 2, recorder.story()
    for video in videos:
        counters = media.counters(exported, video["index"])
        assert counters == list(range(counters[0], counters[-1] + 1)) and len(counters) >= sent - SLACK, (counters, recorder.story())
    assert_complete(stage)


def test_telephone_events_cost_the_sound_around_them_nothing(stage):
    exported, recorder, _ = recorded_from(stage, "tones", until=("audioPacketsSent", 400), codes=(5,))
    assert_plays(exported)
    sound, = media.streams(exported, "audio")
    holes = [seconds for _, seconds in media.gaps(exported, sound["index"], AUDIO_PACKET)]
    assert len(holes) == 2 and all(abs(hole - 0.16) < 0.01 for hole in holes), holes
    offsets = offsets_of(exported)
    assert len(offsets) >= 5 and max(map(abs, offsets)) < IN_TIME, (offsets, recorder.story())
    source = account(stage, "audio")
    assert source["refused"]["payload-type-not-accepted"]["packets"] in range(8, 25)
    assert any("payload type not accepted" in text for text in gaps(stage)), gaps(stage)
    assert sum(track["packets_lost"] for track in certificate(stage)["tracks"]) <= SLACK
    assert certificate(stage)["verdict"] == "complete-with-gaps"
    assert_balances(stage)


def test_comfort_noise_that_was_not_negotiated_is_named_and_sound_stays_in_time(stage):
    exported, recorder, _ = recorded_from(stage, "comfort-noise", "--audio-codec", "pcmu", until=("framesSent", 105), codes=(5,))
    assert_plays(exported)
    offsets = offsets_of(exported)
    assert len(offsets) >= 5 and max(map(abs, offsets)) < IN_TIME, (offsets, recorder.story())
    source = account(stage, "audio")
    assert source["refused"]["payload-type-not-accepted"]["packets"] >= 5
    assert sum(track["packets_lost"] for track in certificate(stage)["tracks"]) <= SLACK
    assert certificate(stage)["verdict"] == "complete-with-gaps"
    assert_balances(stage)


def test_a_call_that_goes_on_by_telephone_is_recorded_whole(stage):
    """The same source has another codec then, and a clock that is six times as slow."""
    exported, recorder, _ = recorded_from(stage, "telephone", until=("framesSent", 150))
    assert_plays(exported)
    assert_few_lost(exported, recorder)
    sounds = media.streams(exported, "audio")
    assert sorted(stream["codec_name"] for stream in sounds) == ["opus", "pcm_mulaw"], recorder.story()
    beeps = sorted(beep for stream in sounds for beep in media.beeps(exported, stream["index"]))
    video, = media.streams(exported, "video")
    offsets = media.flash_to_beep(media.frames(exported, video["index"]), beeps)
    assert len(offsets) >= 8 and max(map(abs, offsets)) < IN_TIME, (offsets, recorder.story())
    assert_balances(stage)


def test_frames_that_a_server_lost_are_named_though_no_packet_is_missing(stage):
    exported, recorder, sent = recorded_from(stage, "lost-before", until=("framesSent", 120), codes=(5,))
    assert_plays(exported)
    assert sum(track["packets_lost"] for track in certificate(stage)["tracks"]) <= SLACK
    source = account(stage, "video")
    assert source["skipped"] in (sent // 20 - 1, sent // 20), source
    assert any("lost before a server numbered" in text for text in gaps(stage)), gaps(stage)
    assert certificate(stage)["verdict"] == "complete-with-gaps"
    assert_balances(stage)


def test_sources_whose_numbers_wrap_before_the_first_packet_comes_are_recorded(stage):
    exported, recorder, sent = recorded_from(stage, "wraps-at-once", until=("framesSent", 105))
    assert_plays(exported)
    assert_few_lost(exported, recorder)
    video, sound = media.streams(exported, "video")[0], media.streams(exported, "audio")[0]
    counters = media.counters(exported, video["index"])
    assert counters == list(range(counters[0], counters[-1] + 1)), counters
    assert counters[0] <= 2 * SLACK and counters[-1] >= sent - SLACK, (counters, recorder.story())
    assert_sound(exported, sound["index"], losses(recorder), recorder.story(), late=lateness(recorder))
    assert_complete(stage)


def test_sources_may_have_any_number(stage):
    exported, recorder, sent = recorded_from(stage, "edge-sources")
    assert_whole(exported, recorder, sent)
    assert {source["ssrc"] for source in certificate(stage)["sources"]} == {0, 0xFFFFFFFF}, certificate(stage)["sources"]
    assert_complete(stage)


def test_two_sources_that_take_turns_are_one_track(stage):
    exported, recorder, sent = recorded_from(stage, "takes-turns", until=("framesSent", 150))
    assert_plays(exported)
    assert_few_lost(exported, recorder)
    video, = media.streams(exported, "video")
    frames = media.frames(exported, video["index"])
    counters = [frame.counter for frame in frames if frame.counter is not None]
    assert len(counters) >= sent - 2 * SLACK and counters == sorted(counters), (counters, recorder.story())
    offsets = offsets_of(exported)
    assert len(offsets) >= 7 and max(map(abs, offsets)) < IN_TIME, (offsets, recorder.story())
    assert_balances(stage)


@pytest.mark.parametrize("kind", ["pixels", "very-large"])
def test_the_smallest_and_the_largest_video(stage, kind):
    exported, recorder, sent = recorded_from(stage, kind, until=("framesSent", 90))
    assert_plays(exported)
    assert_few_lost(exported, recorder)
    video, = media.streams(exported, "video")
    told = media.run("ffprobe", "-v", "error", "-select_streams", video["index"], "-show_entries", "frame=width,height", "-of",
                     "csv=p=0", exported)
    sizes = collections.Counter(told.decode().split())
    assert sizes["1,1" if kind == "pixels" else "7680,4320"] >= 3 and sizes["320,180"] >= 30, (sizes, recorder.story())
    sound, = media.streams(exported, "audio")
    assert_sound(exported, sound["index"], losses(recorder), recorder.story(), late=lateness(recorder))
    assert_complete(stage)
    grid = stage.folder / "grid.mkv"
    done = stage.run_tapedeck("export", recording_folder(stage.folder / "storage"), "--layout", "grid", "--output", grid, "--json")
    assert done.exit_code == 0, done.story()
    assert_plays(grid)


def test_what_is_sent_again_behind_many_later_packets_is_recorded(stage):
    exported, recorder, sent = recorded_from(stage, "late-repair", "--bitrate", "6000000", until=("framesSent", 90))
    assert_whole(exported, recorder, sent)
    peer, = [each for each in recorder.beside if each.name == "aiortc"]
    assert peer.event("odd")["packets"] >= 3, peer.story()
    assert_complete(stage)


def test_a_handshake_in_many_datagrams_of_which_one_is_lost(stage):
    exported, recorder, sent = recorded_from(stage, "torn-handshake", until=("framesSent", 60))
    assert_whole(exported, recorder, sent)
    assert_complete(stage)


def test_video_that_has_another_source_each_second_is_one_track(stage):
    exported, recorder, sent = recorded_from(stage, "source-each-second", "--fps", "10", until=("framesSent", 150))
    assert_plays(exported)
    assert_few_lost(exported, recorder)
    video, = media.streams(exported, "video")
    counters = media.counters(exported, video["index"])
    assert len(counters) >= sent - SLACK and counters == sorted(counters), (counters, recorder.story())
    offsets = offsets_of(exported)
    assert len(offsets) >= 10 and max(map(abs, offsets)) < IN_TIME, (offsets, recorder.story())
    assert_balances(stage)


@pytest.mark.parametrize("kind", ["still-screen", "one-frame"])
def test_a_screen_that_stands_still_is_shown_for_as_long_as_it_is_shared(stage, kind):
    exported, recorder, _ = recorded_from(stage, kind, until=("audioPacketsSent", 600))
    assert_plays(exported)
    assert_few_lost(exported, recorder)
    video, sound = media.streams(exported, "video")[0], media.streams(exported, "audio")[0]
    frames = media.frames(exported, video["index"])
    # One at once, and one in four of the twelve seconds; the last may be under way.
    expected = [0] if kind == "one-frame" else [0, 60, 120, 180]
    assert [frame.counter for frame in frames] in (expected, expected[:max(1, len(expected) - 1)]), (frames, recorder.story())
    beeps = media.beeps(exported, sound["index"])
    offsets = [min((beep - flash for beep in beeps), key=abs) for flash in media.flashes(frames)[1:]]
    assert all(abs(offset) < IN_TIME for offset in offsets), (offsets, recorder.story())
    # No protocol says that nothing changed: the certificate names the time between frames, and nothing else.
    assert {finding["kind"] for finding in certificate(stage)["findings"] if finding["severity"] != "note"} == {"gap"}
    assert sum(track["packets_lost"] for track in certificate(stage)["tracks"]) <= SLACK
    assert_balances(stage)
    folder, (first, last) = recording_folder(stage.folder / "storage"), media.span(exported, sound["index"])
    for name, flags in (("call.webm", ("--container", "webm")), ("grid.mkv", ("--layout", "grid"))):
        path = stage.folder / name
        done = stage.run_tapedeck("export", folder, *flags, "--output", path, "--json")
        assert done.exit_code == 0, done.story()
        assert_plays(path)
        assert abs(float(media.probe(path)["format"]["duration"]) - last) < 0.5, (first, last, done.story())
    shown = media.frames(stage.folder / "grid.mkv", media.streams(stage.folder / "grid.mkv", "video")[0]["index"])
    seen = [frame.counter for frame in shown if frame.counter is not None]
    # The last frame may be as late as the end.
    assert set(seen) >= {frame.counter for frame in frames if frame.time < last - 0.5}, (seen, len(shown), last)
    assert len(seen) > 0.8 * len(shown), (seen, len(shown), last)


def test_an_offer_with_m_lines_in_another_order_moves_nothing(stage):
    exported, recorder, sent = recorded_from(stage, "other-order", until=("framesSent", 120))
    assert_whole(exported, recorder, sent)
    assert_complete(stage)


def test_an_offer_without_the_m_line_of_video_costs_sound_nothing(stage):
    server = stage.room_server(5)
    peer = accounts.odd_peer(stage, server, "fewer-lines", "--codec", "vp8", program="reported_sender_peer.py")
    exported, recorder = start_recorder(stage, room_url(server, accounts.ROOM))
    peer.wait_for_event("offered-again", LIMIT)
    sent = peer.wait_for_figure("framesSent", 135)
    caught_up(peer, recorder)
    interrupted(recorder)
    assert_plays(exported)
    sound, = media.streams(exported, "audio")
    assert_sound(exported, sound["index"], losses(recorder), recorder.story(), late=lateness(recorder))
    video, = media.streams(exported, "video")
    counters = media.counters(exported, video["index"])
    assert counters == sorted(counters) and counters[-1] >= sent - SLACK, (counters, recorder.story())
    assert len(counters) >= sent - 30 - 2 * SLACK, (counters, recorder.story())
    assert_balances(stage)


def test_fractions_of_seconds_in_other_units_move_nothing(stage):
    exported, recorder, sent = recorded_from(stage, "strange-fraction", until=("framesSent", 150))
    assert_whole(exported, recorder, sent)
    offsets = offsets_of(exported)
    assert len(offsets) >= 7 and max(map(abs, offsets)) < IN_TIME, (offsets, recorder.story())
