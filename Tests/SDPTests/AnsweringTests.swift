// SPDX-License-Identifier: Apache-2.0

import Basics
import Foundation
import SDP
import Testing

/// One Chromium session, captured from the first offer to the stop of its first m-line.
@Suite struct AnsweringTests {
    private func chromium(_ name: String) throws -> String { try Fixture.load("chromium-\(name).offer").text }

    @Test func anAnswerAgreesOnNoOrientationThatItsOfferLacks() throws {
        var state = try makeState()
        let offer = try self.chromium("1-audio-video").replacing("urn:3gpp:video-orientation", with: "urn:other")
        let answer = try state.exchange(offer)
        #expect(!answer.contains("video-orientation") && !answer.contains("urn:other"))
        #expect(state.negotiatedMedia.map(\.codec.orientationID) == [nil, nil])
    }

    @Test func aWholeBrowserSessionIsNegotiated() throws {
        var state = try makeState()
        let bin = SimulatedWebRTCBin()
        let first = try state.exchange(self.chromium("1-audio-video"))
        #expect(state.negotiatedMedia.map(\.codec.codec) == [.opus, .vp8])
        #expect(state.negotiatedMedia.map(\.ourDirection) == [.recvonly, .recvonly])
        let video = state.negotiatedMedia[1]
        #expect(video.codec.rtxPayloadType == 97)
        #expect(video.codec.transportCCID == 3)
        // The audio level is sent under the sender's own number.
        #expect(state.negotiatedMedia.map(\.codec.audioLevelID) == [1, nil])
        #expect(first.contains("a=extmap:1 urn:ietf:params:rtp-hdrext:ssrc-audio-level\r\n"))
        // The orientation of video is sent likewise.
        #expect(state.negotiatedMedia.map(\.codec.orientationID) == [nil, 13])
        #expect(first.components(separatedBy: "a=extmap:13 urn:3gpp:video-orientation\r\n").count == 2)
        #expect(video.remoteSources.count == 2)
        #expect(video.remoteSources.map(\.isRTX) == [false, true])
        #expect(state.media(forSSRC: video.remoteSources[1].ssrc)?.innerIndex == 1)
        #expect(first.contains("a=rtcp-fb:96 nack pli\r\n"))

        // Direction changes never reach webrtcbin.
        guard case .reply(let inactive) = try state.offerReceived(self.chromium("2-video-inactive")) else {
            Issue.record("webrtcbin would be told")
            return
        }
        var outer = try SessionDescription(parsing: inactive)
        #expect(outer.direction(of: outer.media[1]) == .inactive)
        #expect(outer.media[1].port == 9)
        #expect(outer.bundleGroups == [["0", "1"]])
        #expect(state.negotiatedMedia[1].remoteDirection == .inactive)
        #expect(state.media(forSSRC: video.remoteSources[0].ssrc) != nil)
        guard case .reply(let back) = try state.offerReceived(self.chromium("3-video-sendonly")) else {
            Issue.record("webrtcbin would be told")
            return
        }
        outer = try SessionDescription(parsing: back)
        #expect(outer.direction(of: outer.media[1]) == .recvonly)
        #expect(try #require(outer.origin?.version) == 3)

        // A data channel is refused without webrtcbin.
        guard case .reply(let data) = try state.offerReceived(self.chromium("4-with-data")) else {
            Issue.record("webrtcbin would be told")
            return
        }
        outer = try SessionDescription(parsing: data)
        #expect(outer.media[2].port == 0)
        #expect(outer.bundleGroups == [["0", "1"]])

        // A second video m-line is added at the end, whatever its place outside.
        guard case .apply(let grown) = try state.offerReceived(self.chromium("5-second-video")) else {
            Issue.record("webrtcbin has to be told")
            return
        }
        #expect(try SessionDescription(parsing: grown).media.map(\.media) == ["audio", "video", "video"])
        _ = try state.answerCreated(inner: bin.answer(grown))
        #expect(state.negotiatedMedia.map(\.outerIndex) == [0, 1, 3])
        #expect(state.negotiatedMedia.map(\.innerIndex) == [0, 1, 2])

        // An ICE restart goes through; our DTLS role and the inner m-lines stay.
        guard case .apply(let restarted) = try state.offerReceived(self.chromium("6-restart-ice")) else {
            Issue.record("webrtcbin has to be told")
            return
        }
        let inner = try SessionDescription(parsing: restarted)
        #expect(inner.media.count == 3)
        #expect(inner.iceCredentials(of: inner.media[0])?.ufrag == state.remoteICEUfrag)
        #expect(inner.media.allSatisfy { inner.setup(of: $0) == .passive })
        _ = try state.answerCreated(inner: bin.answer(restarted))

        // A stopped m-line stays inside; outside it has port 0 and leaves BUNDLE.
        guard case .reply(let stopped) = try state.offerReceived(self.chromium("7-stopped-video")) else {
            Issue.record("webrtcbin would be told")
            return
        }
        outer = try SessionDescription(parsing: stopped)
        #expect(outer.media[1].port == 0)
        #expect(outer.bundleGroups == [["0", "3"]])
        #expect(state.negotiatedMedia.map(\.outerIndex) == [0, 3])

        // The slot comes back as another transceiver: a new inner m-line.
        guard case .apply(let recycled) = try state.offerReceived(self.chromium("8-recycled")) else {
            Issue.record("webrtcbin has to be told")
            return
        }
        #expect(try SessionDescription(parsing: recycled).media.count == 4)
        _ = try state.answerCreated(inner: bin.answer(recycled))
        #expect(state.negotiatedMedia.map(\.outerIndex) == [0, 1, 3])
        #expect(state.negotiatedMedia.map(\.innerIndex) == [0, 3, 2])

        // Chromium leaves its transport when the first m-line of the group stops.
        #expect(try state.offerReceived(self.chromium("9-stopped-tag")) == .rebuild(.transportStopped))
        #expect(state.isStable)
        var fresh = try makeState()
        _ = try fresh.exchange(self.chromium("9-stopped-tag"))
        #expect(fresh.negotiatedMedia.map(\.outerIndex) == [1, 3])
        #expect(fresh.outerCandidate(innerMLineIndex: 0, line: "candidate:1 1 UDP 1 192.0.2.1 9 typ host")?.mid == "4")
    }

    /// The m-line of a camera that was stopped becomes that of a second microphone (RFC 9429 section 5.2.2).
    @Test func anMLineIsUsedAgainForAnotherKind() throws {
        let bin = SimulatedWebRTCBin()
        var state = try makeState()
        _ = try state.exchange(self.chromium("1-audio-video"), bin: bin)
        _ = try state.exchange(self.offer("7-stopped-video", [:], count: 2), bin: bin)
        var offer = try SessionDescription(parsing: self.offer("8-recycled", [:], count: 2))
        let mid = try #require(offer.media[1].mid)
        offer.media[1] = offer.media[0]
        offer.media[1].lines = offer.media[0].lines.filter { !$0.value.hasPrefix("ssrc:") }.map {
            $0.value.hasPrefix("mid:") ? .attribute("mid", mid) : $0
        }
        offer.media[1].lines.append(.attribute("ssrc", "77 cname:microphone"))
        let answer = try SessionDescription(parsing: state.exchange(offer.text, bin: bin))
        #expect(answer.media.map(\.media) == ["audio", "audio"] && answer.media.map(\.mid) == ["0", mid])
        #expect(answer.media[1].port != 0)
        #expect(state.negotiatedMedia.map(\.kind) == [.audio, .audio])
        #expect(state.negotiatedMedia.map(\.innerIndex) == [0, 2])
        #expect(state.media(forSSRC: 77)?.outerIndex == 1)
    }

    /// Mids identify m-lines, also where an app lists its tracks in another order than before, against RFC 3264 section 8.
    @Test func mLinesInAnotherOrderAreTheSame() throws {
        var state = try makeState()
        let first = try self.chromium("1-audio-video")
        _ = try state.exchange(first)
        let before = state.negotiatedMedia
        var offer = try SessionDescription(parsing: first)
        offer.media.reverse()
        guard case .reply(let outer) = try state.offerReceived(offer.text) else {
            Issue.record("webrtcbin would be told")
            return
        }
        #expect(try SessionDescription(parsing: outer).media.map(\.media) == ["video", "audio"])
        #expect(state.negotiatedMedia.map(\.innerIndex) == [1, 0])
        #expect(state.negotiatedMedia.map(\.remoteSources) == before.reversed().map(\.remoteSources))
        let candidate = state.outerCandidate(innerMLineIndex: 0, line: "candidate:1 1 UDP 1 192.0.2.1 9 typ host")
        #expect(candidate?.mLineIndex == 1)
    }

    @Test func aPeerThatStopsEverythingIsAnswered() throws {
        var state = try makeState()
        let first = try self.chromium("1-audio-video")
        _ = try state.exchange(first)
        var offer = try SessionDescription(parsing: first)
        for index in offer.media.indices { offer.media[index].port = 0 }
        offer.lines.removeAll { $0.value.hasPrefix("group:") }
        guard case .reply(let outer) = try state.offerReceived(offer.text) else {
            Issue.record("webrtcbin would be told")
            return
        }
        let answer = try SessionDescription(parsing: outer)
        #expect(answer.media.map(\.port) == [0, 0])
        #expect(answer.bundleGroups.isEmpty)
        #expect(state.negotiatedMedia.isEmpty)
        #expect(state.outerCandidate(innerMLineIndex: 0, line: "candidate:1 1 UDP 1 192.0.2.1 9 typ host") == nil)
        // Media that come back come over a separate transport.
        #expect(try state.offerReceived(first) == .rebuild(.transportStopped))
    }

    @Test func codecChoiceFollowsThePolicy() throws {
        let offer = try Fixture.load("libwebrtc-plan-b.offer").text
        func video(_ policy: NegotiationPolicy) throws -> NegotiatedCodec {
            var state = try makeState(policy)
            _ = try state.exchange(offer, bin: SimulatedWebRTCBin(sends: true))
            return try #require(state.negotiatedMedia.last).codec
        }
        #expect(try video(NegotiationPolicy()).payloadType == 100)
        // Constrained baseline goes before constrained high, though the phone lists it second.
        let h264 = try video(NegotiationPolicy().preferringVideo(.h264))
        #expect(h264.payloadType == 98)
        #expect(h264.packetizationMode == 1)
        #expect(h264.rtxPayloadType == 99)
        // Codecs that can be sent and received go before those that can only be received.
        #expect(try video(NegotiationPolicy(sentVideo: [.h264])).codec == .h264)
        #expect(try video(NegotiationPolicy(honoursOfferOrder: true)).codec == .h264)
        #expect(try video(NegotiationPolicy(receivedVideo: [], sentVideo: [.h264])).codec == .h264)
    }

    @Test func planBSourcesAreAllKnown() throws {
        var state = try makeState()
        let outer = try state.exchange(Fixture.load("libwebrtc-plan-b.offer").text)
        #expect(state.media(forSSRC: 2_120_894_433)?.kind == .video)
        #expect(state.media(forSSRC: 518_273_640)?.kind == .video)
        #expect(state.media(forSSRC: 3_307_719_424)?.kind == .audio)
        #expect(state.media(forSSRC: 1) == nil)
        #expect(state.media(forSSRC: 1, payloadType: 111)?.kind == .audio)
        #expect(state.negotiatedMedia[1].trackID == "ARDAMSv0")
        #expect(outer.contains("a=group:BUNDLE audio video\r\n"))
    }

    /// Firefox names a later m-line with port 0 and `a=bundle-only` (RFC 9143 section 7.2.1): it is in use.
    @Test func firefoxTellsWebrtcbinOnlyWhatIsNew() throws {
        func isApplied(_ name: String, by state: inout NegotiationState) throws -> Bool {
            guard case .apply(let inner) = try state.offerReceived(Fixture.load("firefox-\(name).offer").text) else {
                return false
            }
            _ = try state.answerCreated(inner: SimulatedWebRTCBin().answer(inner))
            return true
        }
        var state = try makeState()
        #expect(try isApplied("1-audio-video", by: &state))
        #expect(state.negotiatedMedia.map(\.codec.payloadType) == [109, 120])
        for name in ["2-video-inactive", "3-video-sendonly", "4-with-data"] {
            #expect(try !isApplied(name, by: &state), "\(name)")
        }
        #expect(try isApplied("5-second-video", by: &state))
        #expect(state.negotiatedMedia.map(\.outerIndex) == [0, 1, 3])
        #expect(try isApplied("6-restart-ice", by: &state))
        #expect(try !isApplied("7-stopped-video", by: &state))
        #expect(state.negotiatedMedia.map(\.outerIndex) == [0, 3])
        #expect(try isApplied("8-recycled", by: &state))
        #expect(state.negotiatedMedia.map(\.outerIndex) == [0, 1, 3])
        let last = try Fixture.load("firefox-9-stopped-tag.offer").text
        #expect(try state.offerReceived(last) == .rebuild(.transportStopped))
    }

    @Test func aSecondPlanBStreamComesAndGoesWithinTheMLines() throws {
        func offer(_ name: String) throws -> String { try Fixture.load("libwebrtc-plan-b-\(name).offer").text }
        var state = try makeState()
        _ = try state.exchange(offer("1-audio-video"))
        #expect(state.negotiatedMedia.map(\.remoteSources.count) == [1, 2])
        _ = try state.exchange(offer("2-two-streams"))
        #expect(state.negotiatedMedia.map(\.remoteSources.count) == [2, 4])
        #expect(Set(state.negotiatedMedia[1].remoteSources.compactMap(\.trackID)).count == 2)
        // The sources that are gone stay known: what is still under way from them has its m-line.
        _ = try state.exchange(offer("3-one-stream-again"))
        #expect(state.negotiatedMedia.map(\.remoteSources.count) == [2, 4])
    }

    @Test func unsubscribedJanusFeedsKeepTheirMLines() throws {
        var state = try makeState()
        _ = try state.exchange(Fixture.load("janus-videoroom-1-one-feed.offer").text)
        _ = try state.exchange(Fixture.load("janus-videoroom-2-two-feeds.offer").text)
        let both = state.negotiatedMedia.map(\.innerIndex)
        #expect(both == [0, 1, 2, 3])
        guard case .reply = try state.offerReceived(Fixture.load("janus-videoroom-3-first-feed-gone.offer").text) else {
            Issue.record("only directions changed")
            return
        }
        #expect(state.negotiatedMedia.map(\.ourDirection) == [.inactive, .inactive, .recvonly, .recvonly])
        _ = try state.exchange(Fixture.load("janus-videoroom-4-first-feed-back.offer").text)
        #expect(state.negotiatedMedia.map(\.innerIndex) == both)
        #expect(state.negotiatedMedia.allSatisfy { $0.ourDirection == .recvonly })
    }

    @Test func whatWeSendIsAnnouncedUnderOneStream() throws {
        var state = try makeState(NegotiationPolicy(sentVideo: [.vp8], sentAudio: [.opus]))
        guard case .apply(let inner) = try state.offerReceived(self.chromium("1-audio-video")) else { return }
        // The driver sees before the answer what to link.
        #expect(state.negotiatedMedia.map(\.ourDirection) == [.sendrecv, .sendrecv])
        let outer = try state.answerCreated(inner: SimulatedWebRTCBin(sends: true).answer(inner)).outer.text
        #expect(outer.contains("a=msid:tapedeck tapedeck-video\r\n"))
        #expect(outer.contains("a=ssrc-group:FID 1001 1501\r\n"))
        #expect(outer.contains("a=ssrc:1001 msid:tapedeck tapedeck-video\r\n"))
        // Audio has no retransmissions, though webrtcbin names a source for them.
        #expect(!outer.contains("1500"))
        #expect(!outer.contains("webrtctransceiver"))
    }

    @Test func sendingWaitsForAPeerThatListens() throws {
        let policy = NegotiationPolicy(sentVideo: [.vp8], sentAudio: [.opus])
        var state = try makeState(policy)
        let outer = try state.exchange(
            self.chromium("1-audio-video").replacing("a=sendrecv", with: "a=sendonly"),
            bin: SimulatedWebRTCBin(sends: true)
        )
        #expect(state.negotiatedMedia.allSatisfy { $0.ourDirection == .recvonly })
        #expect(!outer.contains("a=msid:"))
        var listener = try makeState(policy)
        _ = try listener.exchange(
            self.chromium("1-audio-video").replacing("a=sendrecv", with: "a=recvonly"),
            bin: SimulatedWebRTCBin(sends: true)
        )
        #expect(listener.negotiatedMedia.allSatisfy { $0.ourDirection == .sendonly })
    }

    @Test func ourTrackGoesWhereThePeerListens() throws {
        var state = try makeState(NegotiationPolicy(sentVideo: [.vp8]))
        var offer = try SessionDescription(parsing: self.chromium("5-second-video"))
        offer.media[1].lines = offer.media[1].lines.map { $0.value == "sendrecv" ? .attribute("sendonly") : $0 }
        _ = try state.exchange(offer.text, bin: SimulatedWebRTCBin(sends: true))
        #expect(state.negotiatedMedia.map(\.carriesOurTrack) == [false, false, true])
        #expect(state.negotiatedMedia.map(\.ourDirection) == [.recvonly, .recvonly, .sendrecv])
        // Firefox gives the m-line where it listens port 0 and `a=bundle-only`.
        var bundled = try makeState(NegotiationPolicy(sentVideo: [.vp8]))
        let firefox = try Fixture.load("firefox-5-second-video.offer").text
        _ = try bundled.exchange(firefox, bin: SimulatedWebRTCBin(sends: true))
        #expect(bundled.negotiatedMedia.map(\.carriesOurTrack) == [false, false, true])
        // The peer does not listen yet: the first m-line is made ready, and used once the peer does.
        var waiting = try makeState(NegotiationPolicy(sentVideo: [.vp8]))
        let deaf = try self.chromium("1-audio-video").replacing("a=sendrecv", with: "a=sendonly")
        _ = try waiting.exchange(deaf, bin: SimulatedWebRTCBin(sends: true))
        #expect(waiting.negotiatedMedia.map(\.carriesOurTrack) == [false, true])
        guard case .reply = try waiting.offerReceived(self.chromium("1-audio-video")) else {
            Issue.record("only directions changed")
            return
        }
        #expect(waiting.negotiatedMedia.map(\.ourDirection) == [.recvonly, .sendrecv])
    }

    /// Sends one video, in either codec.
    private static let sending = NegotiationPolicy(sentVideo: [.vp8, .h264])

    /// The offer with the directions of some m-lines changed, and of its m-lines the first `count`.
    private func offer(_ name: String, _ directions: [Int: Direction], count: Int = .max) throws -> String {
        var offer = try SessionDescription(parsing: self.chromium(name))
        offer.media = Array(offer.media.prefix(count))
        let mids = offer.media.filter { $0.port != 0 }.compactMap(\.mid)
        offer.lines = offer.lines.map {
            $0.value.hasPrefix("group:BUNDLE") ? .attribute("group", "BUNDLE \(mids.joined(separator: " "))") : $0
        }
        for (index, direction) in directions {
            offer.media[index].lines = offer.media[index].lines.map { line in
                Direction(rawValue: line.value) == nil ? line : .attribute(direction.rawValue)
            }
        }
        return offer.text
    }

    @Test func ourTrackMovesToAnMLineThatComesWhereThePeerListens() throws {
        let bin = SimulatedWebRTCBin(sends: true)
        var state = try makeState(Self.sending)
        _ = try state.exchange(self.offer("1-audio-video", [1: .sendonly]), bin: bin)
        #expect(state.negotiatedMedia.map(\.ourDirection) == [.recvonly, .recvonly])
        #expect(state.unservedKinds.isEmpty)
        let moved = try state.exchange(self.offer("5-second-video", [1: .sendonly, 3: .recvonly]), bin: bin)
        #expect(state.negotiatedMedia.map(\.ourDirection) == [.recvonly, .recvonly, .sendonly])
        #expect(state.negotiatedMedia.map(\.carriesOurTrack) == [false, true, true])
        // The source is that of webrtcbin's third m-line.
        #expect(moved.contains("a=ssrc:1002 msid:tapedeck tapedeck-video\r\n"))
        #expect(!moved.contains("a=ssrc:1001"))

        // It goes back and forth between m-lines that are ready, and webrtcbin need not know.
        let before = try self.offer("5-second-video", [1: .sendrecv, 3: .inactive])
        guard case .reply(let back) = try state.offerReceived(before) else {
            Issue.record("only directions changed")
            return
        }
        #expect(state.negotiatedMedia.map(\.ourDirection) == [.recvonly, .sendrecv, .inactive])
        #expect(back.text.contains("a=ssrc:1001 msid:tapedeck tapedeck-video\r\n"))
        // Where the peer listens on both it stays: there is one camera.
        guard case .reply = try state.offerReceived(self.offer("5-second-video", [1: .sendrecv, 3: .sendrecv])) else {
            Issue.record("only directions changed")
            return
        }
        #expect(state.negotiatedMedia.map(\.ourDirection) == [.recvonly, .sendrecv, .recvonly])
    }

    @Test func ourTrackMovesToAnMLineThatIsUsedAgain() throws {
        let bin = SimulatedWebRTCBin(sends: true)
        var state = try makeState(Self.sending)
        _ = try state.exchange(self.chromium("1-audio-video"), bin: bin)
        #expect(state.negotiatedMedia.map(\.ourDirection) == [.recvonly, .sendrecv])
        _ = try state.exchange(self.offer("7-stopped-video", [:], count: 2), bin: bin)
        #expect(state.negotiatedMedia.map(\.outerIndex) == [0])
        _ = try state.exchange(self.offer("8-recycled", [1: .sendrecv], count: 2), bin: bin)
        #expect(state.negotiatedMedia.map(\.ourDirection) == [.recvonly, .sendrecv])
        #expect(state.negotiatedMedia.map(\.innerIndex) == [0, 2])
        #expect(state.unservedKinds.isEmpty)

        // Another m-line that has it keeps it.
        var other = try makeState(Self.sending)
        _ = try other.exchange(self.chromium("1-audio-video"), bin: bin)
        _ = try other.exchange(self.chromium("7-stopped-video"), bin: bin)
        #expect(other.negotiatedMedia.map(\.ourDirection) == [.recvonly, .sendrecv])
        _ = try other.exchange(self.offer("8-recycled", [1: .sendrecv]), bin: bin)
        #expect(other.negotiatedMedia.map(\.ourDirection) == [.recvonly, .recvonly, .sendrecv])
    }

    @Test func ourTrackMovesWithAnMLineThatDropsItsCodec() throws {
        let bin = SimulatedWebRTCBin(sends: true)
        var state = try makeState(Self.sending)
        _ = try state.exchange(self.chromium("1-audio-video"), bin: bin)
        let other = try self.chromium("1-audio-video").replacing("SAVPF 96 97 ", with: "SAVPF ")
        _ = try state.exchange(other, bin: bin)
        #expect(state.negotiatedMedia[1].codec.codec == .h264)
        #expect(state.negotiatedMedia[1].innerIndex == 2)
        #expect(state.negotiatedMedia[1].ourDirection == .sendrecv)
        #expect(state.unservedKinds.isEmpty)
    }

    /// webrtcbin gives a sender to the first new m-line with its codec, so that one is ours.
    @Test func theMLineOfOurTrackIsTheFirstNewOneInside() throws {
        var state = try makeState(Self.sending)
        let bin = SimulatedWebRTCBin(sends: true)
        _ = try state.exchange(self.offer("5-second-video", [1: .sendonly, 3: .sendrecv]), bin: bin)
        #expect(state.negotiatedMedia.map(\.innerIndex) == [0, 2, 1])
        #expect(state.negotiatedMedia.map(\.carriesOurTrack) == [false, false, true])
    }

    @Test func whatThePeerListensForInVainIsSaid() throws {
        let bin = SimulatedWebRTCBin(sends: true)
        var state = try makeState(Self.sending)
        _ = try state.exchange(self.offer("5-second-video", [1: .sendrecv, 3: .sendrecv]), bin: bin)
        #expect(state.negotiatedMedia.map(\.ourDirection) == [.recvonly, .sendrecv, .recvonly])
        #expect(state.unservedKinds.isEmpty)
        // webrtcbin was asked for the second one without a sender, and cannot get one later.
        _ = try state.exchange(self.chromium("7-stopped-video"), bin: bin)
        #expect(state.negotiatedMedia.map(\.ourDirection) == [.recvonly, .recvonly])
        #expect(state.unservedKinds == [.video])
    }

    @Test func nothingIsAgreedWithAPeerThatSendsWhatNobodyTakes() throws {
        let policy = NegotiationPolicy(receivedVideo: [], receivedAudio: [], sentVideo: [.vp8], sentAudio: [.opus])
        var state = try makeState(policy)
        #expect(!state.hasAgreedMedia)
        let other = try self.chromium("1-audio-video").replacing("a=sendrecv", with: "a=sendonly")
        _ = try state.exchange(other, bin: SimulatedWebRTCBin(sends: true))
        #expect(state.negotiatedMedia.map(\.remoteDirection) == [.sendonly, .sendonly])
        #expect(!state.hasAgreedMedia)
        guard case .reply = try state.offerReceived(self.chromium("1-audio-video")) else {
            Issue.record("only directions changed")
            return
        }
        #expect(state.hasAgreedMedia)
    }

    @Test func h264IsSentOnlyWithPacketizationMode1() throws {
        var state = try makeState(NegotiationPolicy(receivedVideo: [.h264], sentVideo: [.h264]))
        let offer = try Fixture.load("libwebrtc-plan-b.offer").text.replacing(
            "packetization-mode=1",
            with: "packetization-mode=0"
        )
        _ = try state.exchange(offer)
        #expect(state.negotiatedMedia.last?.ourDirection == .recvonly)
    }

    @Test func aCodecThatDisappearsGetsANewInnerLine() throws {
        var state = try makeState()
        _ = try state.exchange(self.chromium("1-audio-video"))
        let other = try self.chromium("1-audio-video")
            .replacing("SAVPF 96 97 ", with: "SAVPF ")
            .replacing(" 2 IN IP4", with: " 3 IN IP4")
        guard case .apply(let inner) = try state.offerReceived(other) else {
            Issue.record("webrtcbin has to be told")
            return
        }
        #expect(try SessionDescription(parsing: inner).media.count == 3)
        #expect(state.negotiatedMedia[1].codec.codec == .h264)
        #expect(state.negotiatedMedia[1].innerIndex == 2)
    }

    @Test func newSessionsAreRebuilt() throws {
        let first = try self.chromium("1-audio-video")
        var state = try makeState()
        _ = try state.exchange(first)
        #expect(try state.offerReceived(self.chromium("h264")) == .rebuild(.newCertificate))
        let origin = try #require(SessionDescription(parsing: first).origin)
        let ufrag = try #require(state.remoteICEUfrag)
        let other = first.replacing(origin.sessionID, with: "99").replacing("ufrag:\(ufrag)", with: "ufrag:OtHr")
        #expect(try state.offerReceived(other) == .rebuild(.newSession))
        // Only the session id differs: same certificate, same ICE session, which therefore continues.
        let renamed = first.replacing(origin.sessionID, with: "99")
        guard case .reply = try state.offerReceived(renamed) else {
            Issue.record("the same transport goes on")
            return
        }
    }

    @Test func aPayloadTypeWithTwoMeaningsKeepsANewMLineOut() throws {
        var state = try makeState()
        _ = try state.exchange(self.chromium("1-audio-video"))
        let text = try self.chromium("5-second-video")
        let description = try SessionDescription(parsing: text)
        var twisted = description
        twisted.media[3].formats = ["111"]
        twisted.media[3].lines.append(.attribute("rtpmap", "111 VP8/90000"))
        twisted.media[3].lines.removeAll { $0.value.hasPrefix("rtpmap:111 opus") }
        let fresh = twisted.text.replacing(try #require(description.origin).sessionID, with: "1")
        let firstID = try #require(SessionDescription(parsing: self.chromium("1-audio-video")).origin).sessionID
        let offer = fresh.replacing("o=- 1 ", with: "o=- \(firstID) ")
        let answer = try SessionDescription(parsing: state.exchange(offer))
        #expect(answer.media.map(\.port) == [9, 9, 0, 0])
        #expect(state.refusedMedia.last?.reason == "its payload types mean something else on another m-line")
        // With another format in addition, that one is taken, and retransmissions whose number is taken are left out.
        var wider = try SessionDescription(parsing: offer)
        wider.media[3].formats = ["111", "60", "96"]
        wider.media[3].lines.removeAll { $0.value.hasPrefix("rtpmap:96 ") || $0.value.hasPrefix("fmtp:96 ") }
        wider.media[3].lines += [
            .attribute("rtpmap", "60 VP8/90000"), .attribute("rtpmap", "96 rtx/90000"), .attribute("fmtp", "96 apt=60"),
        ]
        let second = try SessionDescription(parsing: state.exchange(wider.text))
        #expect(second.media.map(\.port) == [9, 9, 0, 9])
        #expect(second.media[3].formats == ["60"])
    }

    @Test func payloadTypesInUseAreKeptWhenThePeerNumbersItsCodecsAnew() throws {
        var state = try makeState()
        let first = try self.chromium("1-audio-video")
        let before = try SessionDescription(parsing: state.exchange(first))
        let other = first.replacing("SAVPF 96 97 ", with: "SAVPF 97 ")
            .replacing("rtpmap:97 rtx/90000", with: "rtpmap:97 VP8/90000")
        let after: SessionDescription
        switch try state.offerReceived(other) {
        case .reply(let outer): after = try SessionDescription(parsing: outer)
        case .apply(let inner):
            after = try SessionDescription(
                parsing: state.answerCreated(inner: SimulatedWebRTCBin().answer(inner)).outer
            )
        case .rebuild, .decline:
            Issue.record("the call is not kept")
            return
        }
        #expect(after.media.map(\.port) == before.media.map(\.port))
        #expect(after.media.last?.formats.first == before.media.last?.formats.first)
    }

    /// aiortc answered our offer with our numbers (Opus 111, VP8 96), and offers one more video with its own.
    @Test func anAnswererThatOffersWithNumbersOfItsOwnKeepsOurs() throws {
        var state = try makeState()
        let first = try self.chromium("1-audio-video")
        _ = try state.exchange(first)
        var offer = try SessionDescription(parsing: first)
        let numbers = ["111": "96", "96": "97", "97": "98"]
        for index in offer.media.indices {
            offer.media[index].formats = offer.media[index].formats.compactMap { numbers[$0] }
            offer.media[index].lines = offer.media[index].lines.compactMap { line in
                for name in ["rtpmap", "fmtp", "rtcp-fb"] where line.value.hasPrefix("\(name):") {
                    let words = line.value.dropFirst(name.count + 1).split(separator: " ", maxSplits: 1)
                    let rest = words[1] == "apt=96" ? "apt=97" : String(words[1])
                    return numbers[String(words[0])].map { .attribute(name, "\($0) \(rest)") }
                }
                return line
            }
        }
        var second = try #require(offer.media.last)
        second.lines = second.lines.map { $0.value.hasPrefix("mid:") ? .attribute("mid", "second") : $0 }
        second.lines.removeAll { $0.value.hasPrefix("ssrc") || $0.value.hasPrefix("msid") }
        offer.media.append(second)
        offer.lines = offer.lines.map {
            $0.value.hasPrefix("group:BUNDLE") ? .attribute("group", $0.value.dropFirst(6) + " second") : $0
        }
        let answer = try SessionDescription(parsing: state.exchange(offer.text))
        #expect(answer.media.map(\.port) == [9, 9, 9])
        #expect(answer.media.map { $0.formats.first } == ["111", "96", "96"])
        #expect(answer.media[2].rtpFormats.contains { $0.isRTX && $0.associatedPayloadType == 96 })
    }

    @Test func refusalsSayWhy() throws {
        func code(_ text: String) throws -> SDPError? {
            var state = try makeState()
            do {
                _ = try state.offerReceived(text)
                return nil
            } catch {
                #expect(state.isStable)
                #expect(state.negotiatedMedia.isEmpty)
                return error
            }
        }
        let sdes = try #require(try code(Fixture.load("libwebrtc-plan-b-sdes.offer").text))
        #expect(sdes.code == .sdesOnly)
        #expect(sdes.message.contains("a=crypto"))
        let offer = try self.chromium("1-audio-video")
        #expect(try code(offer.replacing("a=fingerprint", with: "a=finger"))?.code == .noFingerprint)
        #expect(try code(offer.replacing("a=ice-pwd", with: "a=ice"))?.code == .noICE)
        #expect(try code(offer.replacing("a=group:BUNDLE", with: "a=group:LS"))?.code == .noBundle)
        #expect(try code("v=0\r\no=- 1 1 IN IP4 0.0.0.0\r\ns=-\r\n")?.code == .noMedia)
        #expect(try code("hello")?.code == .garbage)
        #expect(try code("")?.code == .garbage)
        #expect(try code("v=0\r\no=- 1 1 IN IP4 0\r\nm=audio x y\r\n")?.message.hasPrefix("line 3:") == true)
    }

    @Test func unmuxedMediaIsRefusedAlone() throws {
        var state = try makeState()
        var offer = try SessionDescription(parsing: self.chromium("1-audio-video"))
        offer.media[0].lines.removeAll { $0.value == "rtcp-mux" }
        _ = try state.exchange(offer.text)
        #expect(state.negotiatedMedia.map(\.kind) == [.video])
        #expect(state.refusedMedia.first?.reason.contains("rtcp-mux") == true)
    }

    @Test func webrtcbinsRefusalIsAnError() throws {
        var state = try makeState()
        guard case .apply(let inner) = try state.offerReceived(self.chromium("1-audio-video")) else { return }
        let answer = try SimulatedWebRTCBin().answer(inner)
        for broken in [
            answer.replacing("m=video 9", with: "m=video 0"),
            answer.replacing("m=video 9 UDP/TLS/RTP/SAVPF 96", with: "m=video 9 UDP/TLS/RTP/SAVPF 98"),
            answer.replacing("a=setup:active", with: "a=setup:actpass"),
            answer.replacing("a=mid:m1", with: "a=mid:m7"),
            String(answer.prefix(answer.utf8.count / 2)),
        ] {
            var copy = state
            #expect { try copy.answerCreated(inner: broken) } throws: { ($0 as? SDPError)?.code == .unexpectedInner }
        }
        #expect(throws: SDPError.self) { try state.offerReceived(self.chromium("2-video-inactive")) }
        _ = try state.answerCreated(inner: answer)
        #expect { try state.answerCreated(inner: answer) } throws: { ($0 as? SDPError)?.code == .wrongState }
    }

    @Test func missingMidsStayMissing() throws {
        var state = try makeState()
        let outer = try SessionDescription(parsing: state.exchange(Fixture.load("camera-without-mid.offer").text))
        #expect(outer.media[0].mid == nil)
        #expect(outer.bundleGroups.isEmpty)
        #expect(outer.setup(of: outer.media[0]) == .active)
        #expect(
            state.outerCandidate(innerMLineIndex: 0, line: "candidate:1 1 UDP 1 192.0.2.1 9 typ host")?.mid == "video"
        )
    }

    @Test func nackIsAnsweredOnlyIfWebrtcbinDoesIt() throws {
        var state = try makeState()
        let outer = try state.exchange(self.chromium("1-audio-video"), bin: SimulatedWebRTCBin(nacks: false))
        #expect(!outer.contains("a=rtcp-fb:96 nack\r\n"))
        #expect(outer.contains("a=rtcp-fb:96 nack pli\r\n"))
        #expect(!outer.contains("rtpmap:97 rtx"))
        #expect(state.negotiatedMedia[1].codec.rtxPayloadType == nil)
    }
}
