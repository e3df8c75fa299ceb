// SPDX-License-Identifier: Apache-2.0

import Basics
import Foundation
import SDP
import Testing

@Suite struct OfferingTests {
    /// The offers that the captured answers are answers to.
    @Test(arguments: [Direction.recvonly, .sendrecv])
    func offersAreThoseThatPeersAnswered(_ direction: Direction) throws {
        let sends = direction.sends
        var state = try makeState(
            NegotiationPolicy(sentVideo: sends ? [.vp8, .h264] : [], sentAudio: sends ? [.opus] : [])
        )
        let offer = try state.offerCreated(inner: SimulatedWebRTCBin().offer(direction: direction)).outer
        #expect(try offer.text == Fixture.load("tapedeck-\(direction.rawValue)").text)
    }

    @Test func offersListEveryCodecInPreferredOrder() throws {
        var state = try makeState(NegotiationPolicy().preferringVideo(.h264))
        let bin = SimulatedWebRTCBin()
        let inner = bin.offer()
        let offer = try state.offerCreated(inner: inner)
        #expect(try SessionDescription(parsing: offer.inner) == SessionDescription(parsing: inner))
        let outer = try SessionDescription(parsing: offer.outer)
        #expect(outer.media.map(\.port) == [9, 9])
        #expect(outer.bundleGroups == [["0", "1"]])
        #expect(outer.media[0].formats == ["111", "0", "8"])
        #expect(outer.media[1].formats == ["102", "103", "104", "105", "96", "97", "98", "99"])
        #expect(outer.media.allSatisfy { outer.direction(of: $0) == .recvonly && outer.setup(of: $0) == .actpass })
        #expect(outer.media.allSatisfy { outer.iceCredentials(of: $0)?.ufrag == SimulatedWebRTCBin.ice.ufrag })
        #expect(
            outer.media.allSatisfy { outer.fingerprints(of: $0).fingerprints == [ownFingerprint].compactMap { $0 } }
        )
        let feedback = try #require(outer.media[1].rtpFormats.first).feedback
        #expect(feedback == ["transport-cc", "nack", "nack pli", "ccm fir"])
        #expect(outer.media[1].headerExtensions.count == 1)
        #expect(!state.isStable)
        #expect { try state.offerCreated(inner: inner) } throws: { ($0 as? SDPError)?.code == .wrongState }
    }

    @Test(arguments: [(true, false, "1"), (false, false, "0"), (true, true, "1;usedtx=1")])
    func opusIsDescribedAsItIsSent(fec: Bool, dtx: Bool, parameters: String) throws {
        var policy = NegotiationPolicy(sentAudio: [.opus])
        (policy.usesOpusFEC, policy.usesOpusDTX) = (fec, dtx)
        var state = try makeState(policy)
        let offer = try state.offerCreated(inner: SimulatedWebRTCBin().offer(direction: .sendrecv)).outer.text
        #expect(offer.contains("a=fmtp:111 minptime=10;useinbandfec=\(parameters)\r\n"))
        var answering = try makeState(policy)
        let answer = try answering.exchange(Fixture.load("chromium-1-audio-video.offer").text)
        #expect(answer.contains("a=fmtp:111 minptime=10;useinbandfec=\(parameters)\r\n"))
    }

    /// A sender that has two channels is asked for both, and for no repetition, which FFmpeg cannot decode in stereo.
    @Test(arguments: [("useinbandfec=1;sprop-stereo=1", true), ("useinbandfec=1;stereo=1;sprop-stereo=0", false)])
    func stereoIsAskedForWhereItIsOffered(parameters: String, isStereo: Bool) throws {
        var state = try makeState()
        let offer = try Fixture.load("chromium-1-audio-video.offer").text
            .replacing("useinbandfec=1", with: parameters)
        let answer = try state.exchange(offer)
        #expect(answer.contains(";stereo=1") == isStereo)
        #expect(answer.contains("useinbandfec=0") == isStereo)
    }

    @Test(arguments: [("4", 4 as UInt8?), ("4/sendrecv", 4), ("5", nil), ("", nil)])
    func levelsAreReadWhereTheAnswerTakesThem(id: String, taken: UInt8?) throws {
        var state = try makeState()
        _ = try state.offerCreated(inner: SimulatedWebRTCBin().offer())
        var answer = try Fixture.load("aiortc.answer").text
        let line = "a=extmap:\(id) urn:ietf:params:rtp-hdrext:ssrc-audio-level\r\n"
        if !id.isEmpty { answer = answer.replacing("a=mid:0\r\n", with: "a=mid:0\r\n\(line)") }
        _ = try state.answerReceived(answer)
        #expect(state.negotiatedMedia.map(\.codec.audioLevelID) == [taken, nil])
    }

    /// A server passes on how others' video is turned; a peer that is not asked turns its own.
    @Test(arguments: [(true, true, 5 as UInt8?), (true, false, nil), (false, true, nil)])
    func orientationIsAskedOfServers(offers: Bool, answers: Bool, taken: UInt8?) throws {
        var policy = NegotiationPolicy()
        policy.offersOrientation = offers
        var state = try makeState(policy)
        let offer = try state.offerCreated(inner: SimulatedWebRTCBin().offer()).outer.text
        let line = "a=extmap:5 urn:3gpp:video-orientation\r\n"
        #expect(offer.components(separatedBy: line).count == (offers ? 2 : 1))
        var answer = try Fixture.load("aiortc.answer").text
        if answers { answer = answer.replacing("a=mid:1\r\n", with: "a=mid:1\r\n\(line)") }
        _ = try state.answerReceived(answer)
        #expect(state.negotiatedMedia.map(\.codec.orientationID) == [nil, taken])
    }

    @Test func theSourcesAreNamedUnderOurTrack() throws {
        var state = try makeState(NegotiationPolicy(receivedAudio: [], sentVideo: [.vp8]))
        let sending = SimulatedWebRTCBin().offer(direction: .sendonly)
        var lines = sending.split(separator: "\r\n", omittingEmptySubsequences: false)
        // Audio is neither sent nor received: only the video is left of the offer.
        let video = lines.firstIndex { $0.hasPrefix("m=video") } ?? 0
        let audio = lines.firstIndex { $0.hasPrefix("m=audio") } ?? 0
        lines.removeSubrange(audio..<video)
        let inner = lines.joined(separator: "\r\n")
        let outer = try SessionDescription(parsing: state.offerCreated(inner: inner).outer)
        #expect(outer.media.map(\.media) == ["video"])
        #expect(outer.direction(of: outer.media[0]) == .sendonly)
        #expect(outer.media[0].sources.map(\.isRTX) == [false, true])
        #expect(outer.media[0].sources.allSatisfy { $0.trackID == "tapedeck-video" })
    }

    @Test func whereWeSendOnlyWhatWorksBothWaysIsOffered() throws {
        var state = try makeState(NegotiationPolicy(sentVideo: [.h264], sentAudio: [.opus]))
        let offer = try state.offerCreated(inner: SimulatedWebRTCBin().offer(direction: .sendrecv)).outer
        let outer = try SessionDescription(parsing: offer)
        #expect(outer.media[0].formats == ["111"])
        #expect(outer.media[1].formats == ["102", "103", "104", "105"])
        #expect(outer.media[1].sources.map(\.isRTX) == [false, true])
        #expect(outer.media[0].sources.count == 1)
        #expect(outer.media[1].msid?.stream == "tapedeck")
    }

    @Test func theAnswersFirstCodecDecides() throws {
        var state = try makeState()
        _ = try state.offerCreated(inner: SimulatedWebRTCBin().offer())
        let inner = try state.answerReceived(Fixture.load("chromium-audio-stopped-h264.answer").text)
        #expect(state.negotiatedMedia.map(\.codec.codec) == [.opus, .h264])
        #expect(state.negotiatedMedia.map(\.ourDirection) == [.inactive, .recvonly])
        #expect(state.negotiatedMedia[1].codec.rtxPayloadType == 103)
        // Chromium sends VP8 even so: webrtcbin knows every payload type that we offered.
        let video = try SessionDescription(parsing: inner).media[1]
        #expect(video.formats == ["102", "103", "96", "97", "104", "105", "98", "99"])
        #expect(video.headerExtensions.count == 1)
    }

    @Test(arguments: [
        ("104 105", 0, Direction.recvonly), ("104 105 102 103", 1, .sendrecv), ("102 103 104 105", 1, .sendrecv),
    ])
    func whoTakesOnlyModeZeroIsSentNoH264(formats: String, mode: Int, direction: Direction) throws {
        var state = try makeState(NegotiationPolicy(sentVideo: [.vp8, .h264], sentAudio: [.opus]))
        _ = try state.offerCreated(inner: SimulatedWebRTCBin().offer(direction: .sendrecv))
        let answer = try Fixture.load("chromium-to-sendrecv.answer").text
            .replacing("SAVPF 96 97 102 103 104 105", with: "SAVPF \(formats)")
        _ = try state.answerReceived(answer)
        #expect(state.negotiatedMedia[1].codec.packetizationMode == mode)
        #expect(state.negotiatedMedia.map(\.ourDirection) == [.sendrecv, direction])
        #expect(state.negotiatedMedia[1].carriesOurTrack == direction.sends)
    }

    @Test func aRefusedLineLooksAcceptedInside() throws {
        var state = try makeState()
        _ = try state.offerCreated(inner: SimulatedWebRTCBin().offer())
        let answer = try Fixture.load("chromium-to-recvonly.answer").text
        var refused = try SessionDescription(parsing: answer)
        refused.media[0].port = 0
        refused.lines = refused.lines.map { $0.value == "group:BUNDLE 0 1" ? .attribute("group", "BUNDLE 1") : $0 }
        let inner = try SessionDescription(parsing: state.answerReceived(refused.text))
        #expect(inner.media.map(\.port) == [9, 9])
        #expect(inner.bundleGroups == [["audio0", "video1"]])
        #expect(state.negotiatedMedia.map(\.kind) == [.video])
        #expect(state.refusedMedia.map(\.outerIndex) == [0])
        #expect(state.outerCandidate(innerMLineIndex: 0, line: "candidate:1 1 UDP 1 192.0.2.1 9 typ host")?.mid == "1")
    }

    @Test func wrongAnswersChangeNothing() throws {
        var state = try makeState()
        let answer = try Fixture.load("chromium-to-recvonly.answer").text
        #expect { try state.answerReceived(answer) } throws: { ($0 as? SDPError)?.code == .wrongState }
        _ = try state.offerCreated(inner: SimulatedWebRTCBin().offer())
        var short = try SessionDescription(parsing: answer)
        short.media.removeLast()
        var swapped = try SessionDescription(parsing: answer)
        swapped.media.reverse()
        var foreign = try SessionDescription(parsing: answer)
        foreign.media[1].lines = foreign.media[1].lines.map { $0.value == "mid:1" ? .attribute("mid", "x") : $0 }
        var empty = try SessionDescription(parsing: answer)
        for index in empty.media.indices { empty.media[index].port = 0 }
        let cases: [(String, SDPError.Code)] = [
            (short.text, .mismatchedAnswer), (swapped.text, .mismatchedAnswer), (foreign.text, .mismatchedAnswer),
            (empty.text, .noMedia), (answer.replacing("group:BUNDLE", with: "group:LS"), .noBundle),
            (answer.replacing("a=fingerprint", with: "a=f"), .noFingerprint),
            (answer.replacing("a=fingerprint", with: "a=crypto"), .sdesOnly),
            (answer.replacing("a=ice-ufrag", with: "a=f"), .noICE), ("", .garbage),
        ]
        for (text, code) in cases {
            #expect { try state.answerReceived(text) } throws: { ($0 as? SDPError)?.code == code }
            #expect(!state.isStable)
        }
        _ = try state.answerReceived(answer)
        #expect(state.isStable)
        #expect { try state.answerReceived(answer) } throws: { ($0 as? SDPError)?.code == .wrongState }
    }

    @Test func thePeerMayOfferLater() throws {
        var state = try makeState()
        _ = try state.offerCreated(inner: SimulatedWebRTCBin().offer())
        _ = try state.answerReceived(Fixture.load("chromium-to-recvonly.answer").text)
        let offer = try Fixture.load("chromium-after-answer.reoffer").text
        guard case .apply(let inner) = try state.offerReceived(offer) else {
            Issue.record("a second video m-line came")
            return
        }
        let description = try SessionDescription(parsing: inner)
        #expect(description.media.map(\.mid) == ["audio0", "video1", "m2"])
        // The peer answered as DTLS client and stays it.
        #expect(description.media.allSatisfy { description.setup(of: $0) == .active })
        _ = try state.answerCreated(inner: SimulatedWebRTCBin().answer(inner))
        guard
            case .reply(let outer) = try state.offerReceived(offer.replacing("a=mid:2", with: "a=inactive\r\na=mid:2"))
        else {
            Issue.record("only a direction changed")
            return
        }
        let answer = try SessionDescription(parsing: outer)
        #expect(answer.media.map { answer.direction(of: $0) } == [.recvonly, .recvonly, .inactive])
        #expect(answer.media.allSatisfy { answer.setup(of: $0) == .passive })
    }

    @Test func webrtcbinsOddOffersAreErrors() throws {
        for text in [
            "", "v=0\r\no=- 1 1 IN IP4 0\r\n", SimulatedWebRTCBin().offer().replacing("m=video", with: "m=text"),
        ] {
            var state = try makeState()
            #expect(throws: SDPError.self) { try state.offerCreated(inner: text) }
            #expect(state.isStable)
        }
        var audioOnly = try makeState(NegotiationPolicy(receivedVideo: []))
        #expect(throws: SDPError.self) { try audioOnly.offerCreated(inner: SimulatedWebRTCBin().offer()) }
    }
}
