// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import SDP

/// Data channels in offers of real peers: answered to the peer, never passed to webrtcbin.
@Suite struct DataChannelTests {
    private static var policy: NegotiationPolicy {
        var policy = NegotiationPolicy()
        policy.takesDataChannels = true
        return policy
    }

    private func offer(_ name: String) throws -> SessionDescription {
        try SessionDescription(parsing: Fixture.load("\(name).offer").text)
    }

    private func data(in description: SessionDescription) -> MediaDescription? {
        description.media.first { $0.media == "application" }
    }

    @Test(arguments: [
        "chromium-4-with-data", "chromium-data-first", "firefox-4-with-data", "firefox-data-first", "aiortc-data",
        "libwebrtc-plan-b-4-with-data",
    ])
    func dataChannelsBesideMediaAreTaken(name: String) throws {
        var state = try makeState(Self.policy)
        let offer = try self.offer(name)
        guard case .apply(let inner) = try state.offerReceived(offer.text) else {
            Issue.record("not applied")
            return
        }
        #expect(try SessionDescription(parsing: inner).media.map(\.media).sorted() == ["audio", "video"])
        #expect(!inner.contains("sctp"))
        let answer = try SessionDescription(
            parsing: state.answerCreated(inner: SimulatedWebRTCBin().answer(inner)).outer
        )
        let data = try #require(self.data(in: answer))
        #expect(answer.media.map(\.port) == [9, 9, 9])
        #expect(data.protocolName == self.data(in: offer)?.protocolName)
        #expect(data.formats == ["webrtc-datachannel"])
        #expect(data.sctpPort == 5000)
        #expect(data.attribute("max-message-size") == "262144")
        #expect(answer.fingerprints(of: data) == answer.fingerprints(of: answer.media[0]))
        #expect(answer.iceCredentials(of: data) == answer.iceCredentials(of: answer.media[0]))
        #expect(answer.setup(of: data) == .active)
        // The transport stays where the peer has it (RFC 9143 section 7.3.3).
        #expect(answer.bundleGroups == offer.bundleGroups)
        #expect(state.dataChannelPort == 5000)
        #expect(state.negotiatedMedia.count == 2)
        #expect(state.refusedMedia.isEmpty)
    }

    /// A transport that begins with data channels is that of the media, too.
    @Test func candidatesOfDataChannelsAreThoseOfTheMedia() throws {
        var state = try makeState(Self.policy)
        let offer = try self.offer("chromium-data-first")
        let usable = offer.media[0].candidates.filter { !$0.isTCP }
        #expect(usable.count == 2)
        guard case .apply(let inner) = try state.offerReceived(offer.text) else {
            Issue.record("not applied")
            return
        }
        #expect(try SessionDescription(parsing: inner).media[0].candidates == usable)
        let outer = try state.answerCreated(inner: SimulatedWebRTCBin().answer(inner)).outer
        let line = "candidate:1 1 UDP 2015363327 192.0.2.1 50000 typ host"
        let told = try #require(state.outerCandidate(innerMLineIndex: 0, line: line))
        #expect((told.mLineIndex, told.mid) == (0, "0"))
        let embedded = try SessionDescription(
            parsing: state.embedding(candidates: [line], isComplete: true, in: outer)
        )
        #expect(embedded.media.map(\.candidates.count) == [1, 0, 0])
        #expect(
            state.innerCandidate(line, mLineIndex: 0, mid: "0")
                == .add(mLineIndex: 0, line: CandidateLine(line)?.description ?? "")
        )
    }

    @Test(arguments: ["chromium", "firefox"])
    func dataChannelsComeAndGoWithoutWebRTCBin(peer: String) throws {
        var state = try makeState(Self.policy)
        _ = try state.exchange(self.offer("\(peer)-1-audio-video").text)
        #expect(state.dataChannelPort == nil)
        let more = try self.offer("\(peer)-4-with-data")
        guard case .reply(let outer) = try state.offerReceived(more.text) else {
            Issue.record("webrtcbin was told")
            return
        }
        #expect(try SessionDescription(parsing: outer).media.map(\.port) == [9, 9, 9])
        #expect(state.dataChannelPort == 5000)
        // Later offers leave them unchanged; this offer was made to a peer that had refused them.
        var second = try self.offer("\(peer)-5-second-video")
        second.media[2] = more.media[2]
        second.lines = second.lines.map { line in
            line.value.hasPrefix("group:BUNDLE") ? .attribute("group", "BUNDLE 0 1 2 3") : line
        }
        let answer = try SessionDescription(parsing: state.exchange(second.text))
        #expect(answer.media.map(\.port) == [9, 9, 9, 9])
        #expect(state.dataChannelPort == 5000)
        var without = second
        without.media[2].port = 0
        without.lines = without.lines.map { line in
            guard let group = without.bundleGroups.first, line.value.hasPrefix("group:BUNDLE") else { return line }
            return .attribute("group", "BUNDLE " + group.filter { $0 != without.media[2].mid }.joined(separator: " "))
        }
        guard case .reply(let last) = try state.offerReceived(without.text) else {
            Issue.record("webrtcbin was told")
            return
        }
        #expect(try SessionDescription(parsing: last).media.map(\.port) == [9, 9, 0, 9])
        #expect(state.dataChannelPort == nil)
    }

    @Test func theOldFormIsAnsweredInItsOwn() throws {
        var offer = try self.offer("chromium-4-with-data")
        offer.media[2].protocolName = "DTLS/SCTP"
        offer.media[2].formats = ["5000"]
        offer.media[2].lines.removeAll { $0.value.hasPrefix("sctp-port") }
        offer.media[2].lines.append(.attribute("sctpmap", "5000 webrtc-datachannel 1024"))
        var state = try makeState(Self.policy)
        let answer = try SessionDescription(parsing: state.exchange(offer.text))
        let data = try #require(self.data(in: answer))
        #expect(data.port == 9)
        #expect((data.protocolName, data.formats) == ("DTLS/SCTP", ["5000"]))
        #expect(data.attribute("sctpmap") == "5000 webrtc-datachannel 1024")
        #expect(data.sctpPort == nil)
    }

    @Test(arguments: [
        ("sctp-port:5000", "sctp-port:0"), ("sctp-port:5000", "sctp-port:x"), ("sctp-port:5000", "sctp-gate:5000"),
        ("webrtc-datachannel", "bfcp"), ("UDP/DTLS/SCTP", "UDP/BFCP"), ("BUNDLE 0 1 2", "BUNDLE 0 1"),
        ("m=application", "m=text"),
    ])
    func whatCannotBeTakenIsRefused(old: String, new: String) throws {
        let text = try self.offer("chromium-4-with-data").text
        #expect(text.contains(old))
        var state = try makeState(Self.policy)
        let answer = try SessionDescription(parsing: state.exchange(text.replacing(old, with: new)))
        #expect(answer.media.map(\.port) == [9, 9, 0])
        #expect(state.dataChannelPort == nil)
    }

    @Test func aSecondOfThemAndOneAloneAreRefused() throws {
        var offer = try self.offer("chromium-4-with-data")
        var second = offer.media[2]
        second.lines = second.lines.map { $0.value.hasPrefix("mid:") ? .attribute("mid", "9") : $0 }
        offer.media.append(second)
        offer.lines = offer.lines.map { $0.value == "group:BUNDLE 0 1 2" ? .attribute("group", "BUNDLE 0 1 2 9") : $0 }
        var state = try makeState(Self.policy)
        #expect(try SessionDescription(parsing: state.exchange(offer.text)).media.map(\.port) == [9, 9, 9, 0])
        var alone = try makeState(Self.policy)
        guard case .decline(let outer, let reason) = try alone.offerReceived(self.offer("firefox-data-only").text)
        else {
            Issue.record("taken")
            return
        }
        #expect(try SessionDescription(parsing: outer).media.map(\.port) == [0])
        #expect(reason.contains("there are no other media"))
        // The same session with media is taken.
        let later = try SessionDescription(parsing: alone.exchange(self.offer("firefox-data-first").text))
        #expect(later.media.map(\.port) == [9, 9, 9])
    }

    /// Every offer that there is: taking data channels changes nothing else.
    @Test(arguments: Fixture.offers)
    func mediaAreAnsweredAsWithout(offer: Fixture) throws {
        var with = try makeState(Self.policy)
        var without = try makeState()
        let one = Result { try with.offerReceived(offer.text) }
        let other = Result { try without.offerReceived(offer.text) }
        switch (one, other) {
        case (.success(.apply(let inner)), .success(.apply(let same))):
            #expect(try self.withoutCandidates(inner) == self.withoutCandidates(same))
            #expect(with.negotiatedMedia == without.negotiatedMedia)
        case (.success(.decline), .success(.decline)), (.failure, .failure):
            break
        default:
            Issue.record("\(one) \(other)")
        }
    }

    private func withoutCandidates(_ text: String) throws -> [[SDPLine]] {
        try SessionDescription(parsing: text).media.map { $0.lines.filter { !$0.value.hasPrefix("candidate") } }
    }
}
