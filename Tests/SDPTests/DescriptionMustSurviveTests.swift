// SPDX-License-Identifier: Apache-2.0

import Basics
import SDP
import Testing

/// Forms of a description in any protocol, and our answers: the media side of the checks that every protocol's suite
/// makes with the bytes of its own wire.
enum DescriptionMustSurvive: String, CaseIterable, Sendable {
    case sdesOnlyOffer
    case planBOffer
    case receiveOnlyOffer
    case audioOnlyOffer
    case duplicatePayloadTypes
    case extraVideoMediaLines
    case rejectedMediaLine
    case dataChannelOnlyOffer
    case dataChannelBesideMedia
    case unknownCodecsOnly
    case unbundledMediaLine
    case redundancyAndForwardErrorCorrection
    case offerWithNewSessionID
    case twoOffersInARow
    case glare
    case answerWithoutOffer
    case duplicateAnswer
}

@Suite struct DescriptionMustSurviveTests {
    private static let sending = NegotiationPolicy(sentVideo: [.vp8, .h264], sentAudio: [.opus])

    @Test(arguments: DescriptionMustSurvive.allCases)
    func survives(_ what: DescriptionMustSurvive) throws {
        switch what {
        case .sdesOnlyOffer: try self.sdesOnly()
        case .planBOffer: try self.planB()
        case .receiveOnlyOffer: try self.receiveOnly()
        case .audioOnlyOffer: try self.audioOnly()
        case .duplicatePayloadTypes: try self.duplicatePayloadTypes()
        case .extraVideoMediaLines: try self.extraVideo()
        case .rejectedMediaLine: try self.rejected()
        case .dataChannelOnlyOffer: try self.dataOnly()
        case .dataChannelBesideMedia: try self.dataBesideMedia()
        case .unknownCodecsOnly: try self.unknownCodecs()
        case .unbundledMediaLine: try self.unbundled()
        case .redundancyAndForwardErrorCorrection: try self.redundancy()
        case .offerWithNewSessionID: try self.newSession()
        case .twoOffersInARow: try self.twoOffers()
        case .glare: try self.glare()
        case .answerWithoutOffer: try self.answerWithoutOffer()
        case .duplicateAnswer: try self.duplicateAnswer()
        }
    }

    private func offer(_ name: String) throws -> String { try Fixture.load("\(name).offer").text }

    /// The first answer to an offer, read.
    private func answer(_ offer: String, policy: NegotiationPolicy = NegotiationPolicy()) throws -> SessionDescription {
        var state = try makeState(policy)
        let bin = SimulatedWebRTCBin(sends: !policy.sentVideo.isEmpty)
        return try SessionDescription(parsing: state.exchange(offer, bin: bin))
    }

    private func sdesOnly() throws {
        var state = try makeState()
        let offer = try self.offer("libwebrtc-plan-b-sdes")
        #expect { try state.offerReceived(offer) } throws: { error in
            guard let error = error as? SDPError else { return false }
            return error.code == .sdesOnly && error.message.contains("a=crypto")
        }
        #expect(state.isStable && state.refusedMedia.isEmpty)
    }

    private func planB() throws {
        let answer = try self.answer(self.offer("libwebrtc-plan-b-1-audio-video"), policy: Self.sending)
        #expect(answer.media.map(\.mid) == ["audio", "video"])
        #expect(answer.bundleGroups == [["audio", "video"]])
        #expect(answer.media.allSatisfy { answer.direction(of: $0) == .sendrecv && $0.rtpFormats.count <= 2 })
        // Such a peer finds our stream and tracks in the sources only.
        #expect(answer.media[1].sources.map(\.trackID) == ["tapedeck-video", "tapedeck-video"])
        #expect(answer.media[1].sources.map(\.isRTX) == [false, true])
    }

    private func receiveOnly() throws {
        for name in ["libwebrtc-plan-b-receive-only", "firefox-receive-only"] {
            let recorder = try self.answer(self.offer(name))
            #expect(recorder.media.map(\.port) == [9, 9], "\(name)")
            #expect(recorder.media.allSatisfy { recorder.direction(of: $0) == .inactive }, "\(name)")
            let camera = try self.answer(self.offer(name), policy: Self.sending)
            #expect(camera.media.allSatisfy { camera.direction(of: $0) == .sendonly }, "\(name)")
        }
    }

    private func audioOnly() throws {
        var offer = try SessionDescription(parsing: self.offer("chromium-1-audio-video"))
        offer.media.removeLast()
        offer.lines = offer.lines.map { $0.value == "group:BUNDLE 0 1" ? .attribute("group", "BUNDLE 0") : $0 }
        let answer = try self.answer(offer.text)
        #expect(answer.media.map(\.media) == ["audio"])
        #expect(answer.media[0].formats == ["111"])
        #expect(answer.direction(of: answer.media[0]) == .recvonly)
        #expect(answer.bundleGroups == [["0"]])
    }

    /// An app moved H.264 to the front and kept a carriage return in its number: 125 is there twice.
    private func duplicatePayloadTypes() throws {
        let text = try self.offer("libwebrtc-plan-b-munged")
        #expect(text.contains("m=video 9 UDP/TLS/RTP/SAVPF 125 96 97 98 99 100 101 127 124 125\r\r\n"))
        #expect(try SessionDescription(parsing: text).media[1].formats.filter { $0 == "125" } == ["125"])
        let answer = try self.answer(text)
        #expect(answer.media[1].formats == ["100", "101"])
        for line in ["SAVPF 125\r 96 97 98 99 100 101 127 124 125", "SAVPF 96 97 98 98 99 100 100 101 101"] {
            let other = text.replacing("SAVPF 125 96 97 98 99 100 101 127 124 125", with: line)
            #expect(try self.answer(other).media[1].formats == ["100", "101"], "\(line)")
        }
    }

    private func extraVideo() throws {
        let answer = try self.answer(self.offer("chromium-5-second-video"), policy: Self.sending)
        #expect(answer.media.map(\.media) == ["audio", "video", "application", "video"])
        #expect(answer.media.map(\.port) == [9, 9, 0, 9])
        // There is one camera: it goes out once, on the first m-line on which the peer listens.
        #expect(answer.media.filter { $0.kind == .video }.map { answer.direction(of: $0) } == [.recvonly, .sendrecv])
    }

    private func rejected() throws {
        let answer = try self.answer(self.offer("chromium-7-stopped-video"))
        #expect(answer.media.map(\.port) == [9, 0, 0, 9])
        #expect(answer.bundleGroups == [["0", "3"]])
        #expect(answer.direction(of: answer.media[1]) == .inactive)
        // RFC 3264 section 6: the formats of a refused m-line mean nothing, but there must be one.
        #expect(answer.media.allSatisfy { !$0.formats.isEmpty })
    }

    private func dataOnly() throws {
        var state = try makeState()
        guard case .decline(let outer, let reason) = try state.offerReceived(self.offer("firefox-data-only")) else {
            Issue.record("a data channel is not taken")
            return
        }
        let answer = try SessionDescription(parsing: outer)
        #expect(answer.media.map(\.media) == ["application"])
        #expect(answer.media[0].port == 0 && answer.media[0].mid == "0")
        #expect(answer.media[0].formats == ["webrtc-datachannel"])
        #expect(answer.bundleGroups.isEmpty)
        #expect(reason.contains("m-line 0 (application)"))
        // The peer adds media to the same session: nothing stands in the way.
        let later = try SessionDescription(parsing: state.exchange(self.offer("firefox-data-first")))
        #expect(later.media.map(\.port).filter { $0 != 0 }.count == 2)
        #expect(later.origin?.version == 1)
    }

    private func dataBesideMedia() throws {
        for name in ["chromium-4-with-data", "firefox-4-with-data", "chromium-data-first", "aiortc-data"] {
            let offer = try SessionDescription(parsing: self.offer(name))
            let answer = try self.answer(offer.text)
            #expect(answer.media.map(\.media) == offer.media.map(\.media), "\(name)")
            for media in answer.media {
                #expect((media.port == 0) == (media.media == "application"), "\(name)")
            }
            #expect(answer.bundleGroups == [answer.media.filter { $0.port != 0 }.compactMap(\.mid)], "\(name)")
        }
    }

    private func unknownCodecs() throws {
        let text = try self.offer("chromium-1-audio-video")
            .replacing("SAVPF", with: "SAVPF 50 ").replacing("rtpmap", with: "map").replacing(" 0 8 ", with: " ")
        var state = try makeState()
        guard case .decline(let outer, let reason) = try state.offerReceived(text) else {
            Issue.record("no codec of it is taken")
            return
        }
        #expect(reason.contains("m-line 1 (video): it offers no codec that we take"))
        #expect(try SessionDescription(parsing: outer).media.map(\.port) == [0, 0])
    }

    private func unbundled() throws {
        let text = try self.offer("chromium-1-audio-video").replacing("BUNDLE 0 1", with: "BUNDLE 1")
        let answer = try self.answer(text)
        #expect(answer.media.map(\.port) == [0, 9])
        #expect(answer.bundleGroups == [["1"]])
    }

    /// `red`, `ulpfec` and `flexfec` are left out of answers; of `rtx`, the one of the codec stays.
    private func redundancy() throws {
        for (name, formats) in [
            ("chromium-1-audio-video", ["96", "97"]), ("libwebrtc-plan-b", ["100", "101"]),
            ("firefox-1-audio-video", ["120", "124"]),
        ] {
            let text = try self.offer(name)
            #expect(text.contains("rtx/90000"), "\(name)")
            let video = try self.answer(text).media[1]
            #expect(video.formats == formats, "\(name)")
            #expect(video.rtpFormats.map(\.encodingName) == ["VP8", "rtx"], "\(name)")
        }
        let plain = try self.answer(self.offer("libwebrtc-plan-b"), policy: NegotiationPolicy(usesRTX: false))
        #expect(plain.media[1].formats == ["100"])
    }

    private func newSession() throws {
        var state = try makeState()
        _ = try state.exchange(self.offer("chromium-1-audio-video"))
        #expect(try state.offerReceived(self.offer("chromium-h264")) == .rebuild(.newCertificate))
        #expect(state.isStable)
    }

    private func twoOffers() throws {
        var state = try makeState()
        let first = try self.offer("chromium-1-audio-video")
        let outer = try state.exchange(first)
        // The same again gets the same answer; another one while the answer is open must wait.
        #expect(try state.offerReceived(first) == .reply(outer: SessionDescription(parsing: outer)))
        var open = try makeState()
        _ = try open.offerReceived(first)
        #expect { try open.offerReceived(first) } throws: { ($0 as? SDPError)?.code == .wrongState }
    }

    private func glare() throws {
        var state = try makeState()
        _ = try state.offerCreated(inner: SimulatedWebRTCBin().offer())
        #expect(try state.offerReceived(self.offer("chromium-1-audio-video")) == .rebuild(.glare))
    }

    private func answerWithoutOffer() throws {
        var state = try makeState()
        let answer = try Fixture.load("chromium-to-recvonly.answer").text
        #expect { try state.answerReceived(answer) } throws: { ($0 as? SDPError)?.code == .wrongState }
    }

    private func duplicateAnswer() throws {
        var state = try makeState()
        _ = try state.offerCreated(inner: SimulatedWebRTCBin().offer())
        let answer = try Fixture.load("chromium-to-recvonly.answer").text
        _ = try state.answerReceived(answer)
        let media = state.negotiatedMedia
        #expect { try state.answerReceived(answer) } throws: { ($0 as? SDPError)?.code == .wrongState }
        #expect(state.negotiatedMedia == media)
    }
}
