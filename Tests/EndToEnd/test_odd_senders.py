# SPDX-License-Identifier: Apache-2.0
"""Senders that keep to the standards in their own way are recorded; what cannot be recorded is named and counted."""

import re

import media
import pytest
from accounts import ROOM, account, assert_balances, assert_complete, certificate, odd_peer, recorded_from
from daemon import Daemon
from figures import AUDIO_PACKET, SLACK, assert_few_lost, assert_plays, assert_sound, assert_two_videos, assert_whole, losses
from peers import caught_up, lateness, room_url
from recordings import interrupted, journal_of, recorded_layers, recording_folder, start_recorder
from stage import LIMIT

# After this many frames the clock of a source restarts, as in odd_sender_peer.py.
ANEW_AT = 45
pytestmark = pytest.mark.media


@pytest.mark.parametrize("kind", ["wraps", "terse", "early", "active", "passive", "old-certificate", "padded", "probes",
                                  "reordered", "zero-sources", "strange-repair", "numbers-anew"])
def test_odd_senders_that_keep_to_the_standards_are_recorded_whole(stage, kind):
    exported, recorder, sent = recorded_from(stage, kind, "--codec", "vp8")
    assert_whole(exported, recorder, sent)
    assert_complete(stage)


def test_packets_of_120_ms_are_recorded_whole(stage):
    exported, recorder, _ = recorded_from(stage, "long-packets", "--codec", "vp8")
    assert_plays(exported)
    audio, = media.streams(exported, "audio")
    first, last = media.span(exported, audio["index"])
    assert len(media.packets(exported, audio["index"])) == round((last - first) / 0.12), recorder.story()
    assert_complete(stage)


def test_two_sources_of_one_m_line_are_two_tracks(stage):
    exported, recorder, _ = recorded_from(stage, "two-sources", "--codec", "vp8")
    assert_two_videos(exported, recorder)
    assert_balances(stage)


def test_sources_that_said_goodbye_go_on_in_their_tracks(stage):
    exported, recorder, sent = recorded_from(stage, "bye", "--codec", "vp8", until=("framesSent", 120))
    assert_plays(exported)
    assert sorted(stream["codec_type"] for stream in media.streams(exported)) == ["audio", "video"], recorder.story()
    counters = media.counters(exported)
    assert counters == sorted(counters) and counters[-1] > 90, counters
    video, = [track for track in certificate(stage)["tracks"] if track["media"] == "video"]
    assert video["packets_lost"] == 0 and video["gaps"]["count"] == 1, video
    assert_balances(stage)


@pytest.mark.parametrize("kind", ["sets-described", "sets-once", "sets-apart"])
def test_parameter_sets_wherever_they_are(stage, kind):
    exported, recorder, sent = recorded_from(stage, kind, "--codec", "h264")
    assert_whole(exported, recorder, sent)
    assert_balances(stage)


def test_without_parameter_sets_nothing_is_recorded_and_it_is_told(stage):
    exported, recorder, _ = recorded_from(stage, "sets-never", "--codec", "h264", codes=(5,))
    assert [stream["codec_type"] for stream in media.streams(exported)] == ["audio"]
    assert certificate(stage)["verdict"] == "complete-with-gaps"
    source = account(stage, "video")
    assert source["recorded"] == 0 and source["tracks"] == []
    assert source["refused"]["no-parameter-sets"]["packets"] > 0
    told = [finding for finding in certificate(stage)["findings"] if finding["kind"] == "media-refused"]
    assert any("none of it is recorded" in finding["text"] for finding in told), told
    assert "H.264 parameter sets unknown" in recorder.messages
    assert_balances(stage)


def test_packets_of_a_strange_type_are_counted_and_are_no_loss_of_the_others(stage):
    exported, recorder, sent = recorded_from(stage, "other-type", codes=(5,))
    assert_whole(exported, recorder, sent)
    source = account(stage, "audio")
    assert source["refused"]["payload-type-not-accepted"]["packets"] > 5
    track = next(track for track in certificate(stage)["tracks"] if track["media"] == "audio")
    assert track["packets_lost"] <= 1 and track["gaps"]["count"] == 0
    assert certificate(stage)["verdict"] == "complete-with-gaps"
    assert_balances(stage)


def test_a_source_that_nobody_described_is_named(stage):
    exported, recorder, sent = recorded_from(stage, "stranger", codes=(5,))
    assert_whole(exported, recorder, sent)
    strangers = [source for source in certificate(stage)["sources"] if source.get("media") is None]
    assert len(strangers) == 1 and strangers[0]["recorded"] == 0
    assert set(strangers[0]["refused"]) == {"payload-type-not-accepted"}
    assert recorder.messages.count("none of them are recorded") == 1, recorder.story()
    assert certificate(stage)["verdict"] == "complete-with-gaps"
    assert_balances(stage)


def test_padding_is_no_loss(stage):
    # Six of 60 frames have one, and the recorder may come after the first.
    exported, recorder, sent = recorded_from(stage, "padding", until=("framesSent", 120))
    assert_whole(exported, recorder, sent)
    for kind in ("audio", "video"):
        source = account(stage, kind)
        assert source["empty"] > 5 and not source["refused"], source
    assert_balances(stage)


def test_a_microphone_that_stood_still_leaves_a_gap_and_stays_in_time(stage):
    exported, recorder, _ = recorded_from(stage, "microphone-stalls", until=("audioPacketsSent", 400))
    assert_plays(exported)
    assert_few_lost(exported, recorder)
    video, sound = media.streams(exported, "video")[0], media.streams(exported, "audio")[0]
    flashes, beeps = media.flashes(media.frames(exported, video["index"])), media.beeps(exported, sound["index"])
    # Two before it, and those behind it but for the second in which it ended.
    assert len(beeps) >= 4, (beeps, flashes)
    offsets = [min((beep - flash for flash in flashes), key=abs) for beep in beeps]
    assert max(map(abs, offsets)) < 0.04, (beeps, flashes, recorder.story())
    track = next(track for track in certificate(stage)["tracks"] if track["media"] == "audio")
    assert track["packets_lost"] == 0 and track["gaps"]["count"] == 1, track
    assert 2.2e9 < track["gaps"]["total_ns"] < 2.4e9, track
    assert certificate(stage)["verdict"] == "complete-with-gaps"
    assert_balances(stage)


def test_silence_that_nobody_announces_is_no_gap(stage):
    exported, recorder, _ = recorded_from(stage, "silence")
    assert_plays(exported)
    assert_few_lost(exported, recorder)
    track = next(track for track in certificate(stage)["tracks"] if track["media"] == "audio")
    assert track["packets_lost"] > 0 or track["gaps"]["count"] == 0, track
    sound, = media.streams(exported, "audio")
    holes = [round(seconds, 1) for _, seconds in media.gaps(exported, sound["index"], AUDIO_PACKET) if seconds > 0.1]
    assert holes and set(holes) == {0.4}, holes
    assert_balances(stage)


@pytest.mark.parametrize("codec", ["vp8", "h264"])
def test_a_source_whose_clock_starts_anew_is_exported_whole(stage, codec):
    exported, recorder, sent = recorded_from(stage, "clock-anew", "--codec", codec, until=("framesSent", 120))
    assert_plays(exported)
    video, = media.streams(exported, "video")
    counters = media.counters(exported, video["index"])
    # A file begins with a keyframe: those before it are left out.
    before = [counter for counter in counters if counter < ANEW_AT]
    assert len(before) >= ANEW_AT - SLACK and counters == sorted(counters), (counters, recorder.story())
    assert len(counters) >= sent - 2 * SLACK, (counters, recorder.story())
    # Other numbers are no loss.
    lost = sum(track["packets_lost"] for track in certificate(stage)["tracks"] if track["media"] == "video")
    assert lost <= SLACK, certificate(stage)
    assert_balances(stage)


def test_a_source_continues_behind_a_loss_of_more_than_half_of_the_sequence_numbers(stage):
    exported, recorder, sent = recorded_from(stage, "lost-half", "--codec", "vp8", until=("framesSent", 120))
    assert_plays(exported)
    video, = media.streams(exported, "video")
    counters = media.counters(exported, video["index"])
    assert len([counter for counter in counters if counter > ANEW_AT]) >= sent - ANEW_AT - 2 * SLACK, (counters, recorder.story())
    assert_balances(stage)


def test_encrypted_video_is_recorded_and_not_called_complete(stage):
    exported, recorder, _ = recorded_from(stage, "encrypted", "--codec", "vp8", codes=(5,))
    assert {stream["codec_type"] for stream in media.streams(exported)} == {"audio", "video"}
    told = [finding for finding in certificate(stage)["findings"] if finding["kind"] == "payload-undecodable"]
    assert len(told) == 1 and told[0]["severity"] == "gap", certificate(stage)["findings"]
    assert certificate(stage)["verdict"] == "complete-with-gaps"
    assert_balances(stage)


def test_encrypted_video_that_looks_whole_is_noticed_by_the_decoder_of_browsers(stage):
    """ffmpeg's own decoder shows such frames as noise, without a word."""
    recorded_from(stage, "encrypted-tail", "--codec", "vp8", codes=(0, 5))
    run = stage.run_tapedeck("verify", recording_folder(stage.folder / "storage"), "--decode", "--json")
    told = run.result()
    assert run.exit_code == 5 and told["verdict"] == "damaged", run.story()
    video, = [track for track in told["tracks"] if track["media"] == "video"]
    assert video["decoding"]["errors"] >= video["units"], video


def test_a_sender_is_asked_as_it_offers(stage):
    server = stage.room_server(5)
    peer = odd_peer(stage, server, "fir-only", "--codec", "vp8")
    _, recorder = start_recorder(stage, room_url(server, ROOM))
    # For what is missing; at its beginning a keyframe comes without.
    figures = peer.wait_for("requests", lambda: [fact for fact in peer.facts if fact.get("fir", 0) >= 2])[-1]
    assert figures["pli"] == figures["nack"] == 0, figures
    interrupted(recorder)
    assert account(stage, "video")["recorded"] > 0
    assert_balances(stage)


def test_of_layers_that_come_at_once_the_best_is_recorded(stage):
    exported, recorder, sent = recorded_from(stage, "layers", "--codec", "vp8")
    assert_whole(exported, recorder, sent)
    assert recorded_layers(stage.folder / "storage") == [{"recorded": "f", "offered": ["f", "h", "q"]}]
    others = [source for source in certificate(stage)["sources"] if "simulcast-layer" in source["refused"]]
    assert len(others) == 2 and all(source["recorded"] == 0 for source in others), certificate(stage)["sources"]
    assert all(set(source["refused"]) == {"simulcast-layer"} for source in others), others
    assert_complete(stage)


def test_a_layer_that_is_not_the_best_is_named(stage):
    exported, recorder, sent = recorded_from(stage, "lesser-layer", "--codec", "vp8")
    assert_whole(exported, recorder, sent)
    assert recorded_layers(stage.folder / "storage") == [{"recorded": "q", "offered": ["f", "h", "q"]}]
    assert recorder.messages.count("the best layer of a participant's video does not come") == 1, recorder.story()
    told = [finding["text"] for finding in certificate(stage)["findings"] if finding["kind"] == "lesser-layer"]
    assert len(told) == 1 and told[0].endswith("layer q, asked for f"), told
    assert_balances(stage)


def test_what_is_refused_is_in_the_api_the_metrics_the_journal_and_the_certificate(stage):
    server = stage.room_server(5)
    room = {"url": room_url(server, ROOM), "record": {"empty_after": "1s"}}
    daemon = Daemon(stage, {"standup": room})
    daemon.wait_for_phase("standup", "joined")
    peer = odd_peer(stage, server, "other-type", "--codec", "vp8")
    daemon.wait_for_recording("standup")
    daemon.post("/v1/rooms/standup/pause")

    def refused():
        participants = (daemon.room("standup").get("status") or {}).get("participants", [])
        return participants[0].get("unrecordedPackets", {}) if participants else {}

    daemon.wait_for("the counts", lambda: {"paused", "payload-type-not-accepted"} <= set(refused()))
    for reason in ("paused", "payload-type-not-accepted"):
        daemon.wait_for(f"the metric of {reason}", lambda reason=reason: re.search(
            rf'tapedeck_room_unrecorded_packets_total{{room="standup",reason="{reason}"}} [1-9]', daemon.text("/metrics")))
    daemon.post("/v1/rooms/standup/resume")
    assert peer.end() == 0, peer.story()
    folder, = daemon.wait_for_export("standup")
    recording, = daemon.recordings()
    link = f"/v1/recordings/{recording['id']}"
    daemon.wait_for("its verdict", lambda: daemon.get(link).get("verdict") == "complete-with-gaps")
    counted = [record for record in journal_of(folder) if record["kind"] == "source-counted" and record["media"] == "audio"]
    assert counted[-1]["final"] and {"paused", "payload-type-not-accepted"} <= set(counted[-1]["refused"])
    assert "payload type not accepted" in (folder / "certificate.txt").read_text()


@pytest.mark.parametrize("kind, codec", [("sideways", "vp8"), ("sideways", "h264"), ("mixed-headers", "vp8"), ("mixed-headers", "h264")])
def test_video_that_is_sent_sideways_is_played_upright(stage, kind, codec):
    exported, recorder, _ = recorded_from(stage, kind, "--codec", codec)
    assert_plays(exported)
    assert_few_lost(exported, recorder)
    video, = [stream for stream in media.streams(exported) if stream["codec_type"] == "video"]
    assert [data["rotation"] for data in video["side_data_list"]] == [-90]
    journal = journal_of(recording_folder(stage.folder / "storage"))
    formats = [record for record in journal if record["kind"] == "format-changed"]
    assert [record["rotation"] for record in formats] == [90], formats


@pytest.mark.parametrize("codec", ["vp8", "h264"])
def test_a_sender_on_another_connection_goes_on_in_its_track(stage, codec):
    server = stage.room_server(5)
    peer = odd_peer(stage, server, "new-connection", "--codec", codec)
    exported, recorder = start_recorder(stage, room_url(server, ROOM), "--codec", codec)
    peer.wait_for_event("connected-anew", LIMIT)
    caught_up(peer, recorder)
    interrupted(recorder)
    assert peer.end(LIMIT) == 0, peer.story()
    assert_plays(exported)
    assert sorted(stream["codec_type"] for stream in media.streams(exported)) == ["audio", "video"], recorder.story()
    # Each file begins with its connection, and the frames of both are decoded from the one track.
    counters = media.counters(exported)
    anew = next(index for index, counter in enumerate(counters) if index and counter < counters[index - 1])
    first, second = [fact["framesSent"] for fact in peer.facts if fact.get("event") == "closed"]
    assert first - SLACK <= counters[anew - 1] + 1 <= first + SLACK, (counters, first)
    assert len(counters) - anew >= 30 and counters[-1] < second + SLACK, (counters, second)
    files = [track["file"] for track in certificate(stage)["tracks"] if track["media"] == "video"]
    assert len(files) == 2, certificate(stage)["tracks"]
    video, = media.streams(exported, "video")
    assert video["tags"]["SOURCE_FILE"] == ", ".join(files), video
    # The earlier behaviour, on request.
    folder, apart = recording_folder(stage.folder / "storage"), stage.folder / "apart.mkv"
    done = stage.run_tapedeck("export", folder, "--separate-tracks", "--output", apart, "--json")
    assert done.exit_code == 0, done.story()
    assert len(media.streams(apart, "video")) == 2 and len(media.streams(apart, "audio")) == 2, done.story()
    assert sum(len(media.frames(apart, index)) for index in (0, 1)) == len(media.frames(exported))


@pytest.mark.parametrize("codec", ["vp8", "h264"])
def test_another_source_of_a_connection_continues_its_track(stage, codec):
    exported, recorder, sent = recorded_from(stage, "new-source", "--codec", codec, until=("framesSent", 105))
    assert_whole(exported, recorder, sent)
    files = [track["file"] for track in certificate(stage)["tracks"] if track["media"] == "video"]
    assert len(files) == 2, certificate(stage)["tracks"]
    video, = media.streams(exported, "video")
    assert video["tags"]["SOURCE_FILE"] == ", ".join(files), video
    # Its clock is another one, and its sender reports say which.
    times = [packet.time for packet in media.packets(exported, video["index"])]
    assert max(after - before for before, after in zip(times, times[1:])) < 0.2, times


def test_an_m_line_that_is_refused_is_named(stage):
    exported, recorder, _ = recorded_from(stage, "strange-codec", "--codec", "vp8", until=("audioPacketsSent", 150))
    assert [stream["codec_type"] for stream in media.streams(exported)] == ["audio"]
    assert recorder.messages.count("our answer refuses what a participant would send") == 1, recorder.story()
    told = [finding for finding in certificate(stage)["findings"] if finding["kind"] == "not-negotiated"]
    assert len(told) == 1 and "video of" in told[0]["text"], told
    assert certificate(stage)["verdict"] == "complete-with-gaps"
    assert_balances(stage)


def test_a_sender_that_sets_its_clock_stays_in_time(stage):
    exported, recorder, sent = recorded_from(stage, "clock-set", "--codec", "vp8", until=("framesSent", 105))
    assert_whole(exported, recorder, sent)
    video, sound = media.streams(exported, "video")[0], media.streams(exported, "audio")[0]
    offsets = media.flash_to_beep(media.frames(exported, video["index"]), media.beeps(exported, sound["index"]))
    assert len(offsets) >= 6 and max(map(abs, offsets)) < 0.04, (offsets, recorder.story())
    assert certificate(stage)["verdict"] == "complete", certificate(stage)["findings"]


@pytest.mark.parametrize("codec", ["vp8", "h264"])
def test_a_call_goes_on_in_its_tracks_under_other_payload_types(stage, codec):
    exported, recorder, sent = recorded_from(stage, "other-numbers", "--codec", codec, until=("framesSent", 105))
    assert_plays(exported)
    assert sorted(stream["codec_type"] for stream in media.streams(exported)) == ["audio", "video"], recorder.story()
    counters = media.counters(exported)
    # A file begins with a keyframe: those before it are left out.
    assert counters == sorted(counters) and len(counters) >= sent - 2 * SLACK, (counters, recorder.story())
    assert sum(track["packets_lost"] for track in certificate(stage)["tracks"]) <= SLACK, certificate(stage)
    assert_balances(stage)


@pytest.mark.parametrize("codec", ["vp8", "h264"])
def test_frames_that_are_encrypted_end_to_end_are_not_called_complete(stage, codec):
    exported, recorder, _ = recorded_from(stage, "sealed", "--codec", codec, codes=(5,))
    assert {stream["codec_type"] for stream in media.streams(exported)} == {"audio", "video"}
    told = [finding for finding in certificate(stage)["findings"] if finding["kind"] == "payload-undecodable"]
    assert len(told) == 2 and all(finding["severity"] == "gap" for finding in told), certificate(stage)["findings"]
    assert all("encrypted end to end" in finding["text"] for finding in told), told
    assert certificate(stage)["verdict"] == "complete-with-gaps"
    assert_balances(stage)


@pytest.mark.parametrize("codec", ["vp8", "h264"])
def test_a_torn_start_leaves_nothing_torn_in_the_file(stage, codec):
    exported, recorder, sent = recorded_from(stage, "torn-start", "--codec", codec, until=("framesSent", 105))
    assert_plays(exported)
    video, = media.streams(exported, "video")
    counters = media.counters(exported, video["index"])
    assert counters == list(range(counters[0], counters[-1] + 1)), counters
    assert 0 < counters[0] <= 2 * SLACK and counters[-1] >= sent - SLACK, (counters, recorder.story())
    assert account(stage, "video")["refused"], certificate(stage)["sources"]
    assert_balances(stage)


@pytest.mark.parametrize("codec", ["vp8", "h264"])
def test_a_first_packet_that_comes_late_costs_nothing_but_its_frame(stage, codec):
    exported, recorder, sent = recorded_from(stage, "late-start", "--codec", codec, until=("framesSent", 105))
    assert_plays(exported)
    video, = media.streams(exported, "video")
    counters = media.counters(exported, video["index"])
    assert counters == list(range(counters[0], counters[-1] + 1)), counters
    assert counters[0] <= 2 * SLACK and counters[-1] >= sent - SLACK, (counters, recorder.story())
    assert_balances(stage)


@pytest.mark.parametrize("kind", ["leaps-near", "leaps", "leaps-far"])
def test_a_clock_that_leaps_ahead_leaves_no_hole_in_time(stage, kind):
    frames = 180 if kind == "leaps-near" else 120
    exported, recorder, sent = recorded_from(stage, kind, "--codec", "vp8", until=("framesSent", frames))
    assert_plays(exported)
    assert_few_lost(exported, recorder)
    video, sound = media.streams(exported, "video")[0], media.streams(exported, "audio")[0]
    frames = media.frames(exported, video["index"])
    counters = [frame.counter for frame in frames if frame.counter is not None]
    assert len(counters) >= sent - 2 * SLACK and counters == sorted(counters), (counters, recorder.story())
    offsets = media.flash_to_beep(frames, media.beeps(exported, sound["index"]))
    # Three are before the leap; a busy sender misses some.
    assert len(offsets) >= 4 and max(map(abs, offsets)) < 0.04, (offsets, recorder.story())
    assert frames[-1].time < media.span(exported, sound["index"])[1] + 1, recorder.story()
    assert_balances(stage)


def test_a_first_packet_from_the_future_moves_nothing(stage):
    """Nor is it the track that players show."""
    exported, recorder, _ = recorded_from(stage, "first-ahead", "--codec", "vp8", until=("framesSent", 105))
    assert_plays(exported)
    video, sound = media.streams(exported, "video")[0], media.streams(exported, "audio")[0]
    offsets = media.flash_to_beep(media.frames(exported, video["index"]), media.beeps(exported, sound["index"]))
    assert len(offsets) >= 5 and max(map(abs, offsets)) < 0.04, (offsets, recorder.story())
    assert_balances(stage)


def test_what_was_held_back_and_came_at_once_is_whole_and_in_time(stage):
    exported, recorder, sent = recorded_from(stage, "held-back", "--codec", "vp8", until=("framesSent", 150))
    assert_whole(exported, recorder, sent)
    video, sound = media.streams(exported, "video")[0], media.streams(exported, "audio")[0]
    offsets = media.flash_to_beep(media.frames(exported, video["index"]), media.beeps(exported, sound["index"]))
    assert len(offsets) >= 8 and max(map(abs, offsets)) < 0.04, (offsets, recorder.story())
    assert_complete(stage)


def test_a_padding_bit_without_padding_costs_other_media_nothing(stage):
    """The video itself is cut short by what its last bytes seem to say, which is not called complete."""
    exported, recorder, _ = recorded_from(stage, "padding-bit", "--codec", "vp8", codes=(5,))
    sound, = media.streams(exported, "audio")
    assert_sound(exported, sound["index"], losses(recorder), recorder.story(), late=lateness(recorder))
    assert account(stage, "video")["doubtful"] > 5 and "doubtful" not in account(stage, "audio")
    told = [finding["text"] for finding in certificate(stage)["findings"] if finding["severity"] == "gap"]
    assert any("padding that looks like media" in text for text in told), told
    assert certificate(stage)["verdict"] == "complete-with-gaps"
    assert "padding that looks like media" in recorder.messages
    assert_balances(stage)


def test_audio_whose_packets_change_their_length_is_recorded_whole(stage):
    exported, recorder, _ = recorded_from(stage, "changing-packets", "--codec", "vp8", until=("framesSent", 105))
    assert_plays(exported)
    assert_few_lost(exported, recorder)
    video, sound = media.streams(exported, "video")[0], media.streams(exported, "audio")[0]
    times = [packet.time for packet in media.packets(exported, sound["index"])]
    lengths = {round(after - before, 2) for before, after in zip(times, times[1:])}
    assert lengths == {0.02, 0.04, 0.06, 0.12}, lengths
    offsets = media.flash_to_beep(media.frames(exported, video["index"]), media.beeps(exported, sound["index"]))
    assert len(offsets) >= 5 and max(map(abs, offsets)) < 0.04, (offsets, recorder.story())
    assert_complete(stage)


def test_media_under_a_key_stream_that_begins_again_are_named(stage):
    """They cannot be told from a stranger's that repeats what it heard."""
    exported, recorder, _ = recorded_from(stage, "cipher-anew", "--codec", "vp8", until=("framesSent", 240), codes=(5,))
    sound, = media.streams(exported, "audio")
    assert_sound(exported, sound["index"], losses(recorder), recorder.story(), late=lateness(recorder))
    strangers = [source for source in certificate(stage)["sources"] if source.get("media") is None]
    assert [set(source["refused"]) for source in strangers] == [{"not-authentic"}], certificate(stage)["sources"]
    assert certificate(stage)["verdict"] == "complete-with-gaps"
    assert "not made with the key" in recorder.messages
    assert_balances(stage)


def test_two_senders_whose_sources_have_the_same_numbers(stage):
    server = stage.serve("--room-size", "3")
    peers = [odd_peer(stage, server, "same-sources", "--codec", codec) for codec in ("vp8", "h264")]
    exported, recorder = start_recorder(stage, room_url(server, ROOM))
    for peer in peers:
        peer.wait_for_figure("framesSent", 60)
    interrupted(recorder)
    assert_plays(exported)
    sources = [(source["ssrc"], source["media"]) for source in certificate(stage)["sources"]]
    assert len(sources) == 4 and len(set(sources)) == 2, sources
    assert {stream["codec_name"] for stream in media.streams(exported, "video")} == {"vp8", "h264"}
    assert len(media.streams(exported, "audio")) == 2
    assert len({track["participant"] for track in certificate(stage)["tracks"]}) == 2, certificate(stage)["tracks"]
    for stream in media.streams(exported, "video"):
        counters = media.counters(exported, stream["index"])
        assert counters == list(range(counters[0], counters[-1] + 1)), (counters, recorder.story())
    assert_complete(stage)


def test_a_page_that_is_loaded_again_is_recorded_as_two_participants(stage):
    server = stage.serve("--room-size", "3")
    peer = odd_peer(stage, server, "rejoins", "--codec", "vp8")
    exported, recorder = start_recorder(stage, room_url(server, ROOM))
    peer.wait_for_event("rejoined", LIMIT)
    caught_up(peer, recorder)
    interrupted(recorder)
    assert peer.end(LIMIT) == 0, peer.story()
    assert_plays(exported)
    assert_few_lost(exported, recorder)
    videos, story = media.streams(exported, "video"), recorder.story()
    assert len(videos) == len(media.streams(exported, "audio")) == 2, story
    sent = [fact["framesSent"] for fact in peer.facts if fact.get("event") == "closed"]
    for stream, count in zip(videos, sent, strict=True):
        counters = media.counters(exported, stream["index"])
        assert len(counters) >= count - 2 * SLACK and counters == sorted(counters), (counters, sent, story)
    assert len({track["participant"] for track in certificate(stage)["tracks"]}) == 2, certificate(stage)["tracks"]
    assert_complete(stage)


@pytest.mark.parametrize("codec", ["vp8", "h264"])
def test_sizes_that_change_are_recorded_and_exported_whole(stage, codec):
    """A browser's camera that ended sends frames of 2x2; servers have cameras change their size in mid-call."""
    exported, recorder, sent = recorded_from(stage, "sizes", "--codec", codec, until=("framesSent", 120))
    assert_plays(exported)
    assert_few_lost(exported, recorder)
    whole = len(media.frames(exported, media.streams(exported, "video")[0]["index"]))
    assert whole >= sent - SLACK, (whole, recorder.story())
    assert_complete(stage)
    folder = recording_folder(stage.folder / "storage")
    if codec == "h264":
        mp4 = stage.folder / "call.mp4"
        done = stage.run_tapedeck("export", folder, "--container", "mp4", "--output", mp4, "--json")
        assert done.exit_code == 0, done.story()
        assert_plays(mp4)
        assert len(media.frames(mp4, media.streams(mp4, "video")[0]["index"])) == whole, done.story()
    grid = stage.folder / "grid.mkv"
    done = stage.run_tapedeck("export", folder, "--layout", "grid", "--output", grid, "--json")
    assert done.exit_code == 0, done.story()
    assert_plays(grid)


def test_a_long_silence_that_nobody_announces_loses_nothing_and_stays_in_time(stage):
    exported, recorder, _ = recorded_from(stage, "long-silence", "--codec", "vp8", until=("audioPacketsSent", 900))
    assert_plays(exported)
    assert_few_lost(exported, recorder)
    video, sound = media.streams(exported, "video")[0], media.streams(exported, "audio")[0]
    holes = [seconds for _, seconds in media.gaps(exported, sound["index"], AUDIO_PACKET) if seconds > 0.1]
    assert len(holes) == 1 and abs(holes[0] - 12) < 0.1, holes
    offsets = media.flash_to_beep(media.frames(exported, video["index"]), media.beeps(exported, sound["index"]))
    assert len([offset for offset in offsets if abs(offset) < 0.04]) >= 4, (offsets, recorder.story())
    assert_balances(stage)


def test_audio_that_an_offer_makes_inactive_comes_back_in_time(stage):
    exported, recorder, _ = recorded_from(stage, "muted-by-offer", "--codec", "vp8", until=("framesSent", 150))
    assert_plays(exported)
    assert_few_lost(exported, recorder)
    video, sound = media.streams(exported, "video")[0], media.streams(exported, "audio")[0]
    holes = [seconds for _, seconds in media.gaps(exported, sound["index"], AUDIO_PACKET) if seconds > 0.1]
    assert len(holes) == 1 and 2.5 < holes[0] < 4, holes
    # Its offer says that it sends none: nothing is missing.
    said = [record["name"] for record in journal_of(recording_folder(stage.folder / "storage")) if record["kind"] == "marker"]
    assert said == ["muted", "unmuted"], said
    assert certificate(stage)["verdict"] == "complete", certificate(stage)["findings"]
    beeps = media.beeps(exported, sound["index"])
    offsets = media.flash_to_beep(media.frames(exported, video["index"]), beeps)
    # A beep that silence cuts short is heard later than it began.
    assert len([offset for offset in offsets if abs(offset) < 0.04]) >= 5, (offsets, recorder.story())
    assert max(map(abs, offsets)) < 0.1, (offsets, recorder.story())
    assert sum(track["packets_lost"] for track in certificate(stage)["tracks"]) <= SLACK, certificate(stage)
    assert_balances(stage)
