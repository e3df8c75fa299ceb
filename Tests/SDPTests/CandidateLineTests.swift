// SPDX-License-Identifier: Apache-2.0

import Basics
import SDP
import Testing

@Suite struct CandidateLineTests {
    @Test(arguments: ["candidate:", "a=candidate:", "", "  a=candidate:"])
    func everyPrefixIsRead(_ prefix: String) throws {
        let value = "3780769304 1 udp 2122194687 192.0.2.2 57169 typ host generation 0 ufrag DRxY network-id 1"
        let candidate = try #require(CandidateLine(prefix + value + "\r\n"))
        #expect(candidate.foundation == "3780769304")
        #expect(candidate.component == 1)
        #expect(candidate.priority == 2_122_194_687)
        #expect(candidate.address == "192.0.2.2")
        #expect(candidate.port == 57169)
        #expect(candidate.kind == .host)
        #expect(candidate.ufrag == "DRxY")
        #expect(!candidate.isTCP && !candidate.hasName)
        let printed = "candidate:" + value.replacing(" udp ", with: " UDP ")
        #expect(candidate.description == printed)
        #expect(CandidateLine(printed) == candidate)
    }

    @Test func otherAddressesAndTypesAreRead() throws {
        let tcp = try #require(CandidateLine("candidate:2 1 TCP 1015021823 fd00::2 9 typ host tcptype active"))
        #expect(tcp.isTCP)
        #expect(tcp.tcpType == "active")
        let hidden = try #require(
            CandidateLine("candidate:1 1 udp 1 1f4c.local 5 typ srflx raddr 0.0.0.0 rport 0")
        )
        #expect(hidden.hasName)
        #expect(hidden.kind == .serverReflexive)
        for (address, isName) in [
            ("media.example.org", true), ("localhost", true), ("192.0.2.9", false), ("::1", false),
        ] {
            #expect(CandidateLine("candidate:1 1 udp 1 \(address) 5 typ host")?.hasName == isName, "\(address)")
        }
        #expect(
            hidden.replacingAddress("192.0.2.9")?.description.contains(" 192.0.2.9 5 typ srflx raddr 0.0.0.0 ") == true
        )
        #expect(hidden.replacingAddress("192.0.2.9 1 typ") == nil)
    }

    @Test(arguments: [
        "", "candidate:", "end-of-candidates", "candidate:1 1 udp 1 192.0.2.2 5 host typ",
        "candidate:1 0 udp 1 192.0.2.2 5 typ host", "candidate:1 1 sctp 1 192.0.2.2 5 typ host",
        "candidate:1 1 udp 99999999999999999999 192.0.2.2 5 typ host", "candidate:1 1 udp 1 192.0.2.2 70000 typ host",
        "candidate:1 1 udp 1 192.0.2.300 5 typ host", "candidate:1 1 udp 1 1.2.3 5 typ host",
        "candidate:1 1 udp 1 a/b 5 typ host", "candidate:1 1 udp 1 192.0.2.2 5 typ best",
        "candidate:1 1 udp 1 192.0.2.2 5 typ host x \u{1}y", "candidate:1 1 udp 1 é.local 5 typ host",
    ])
    func nonsenseIsRefused(_ text: String) {
        #expect(CandidateLine(text) == nil)
    }

    @Test func remoteCandidatesAreJudged() throws {
        var state = try makeState()
        let line = "candidate:1 1 udp 1 192.0.2.2 5 typ host"
        #expect(state.innerCandidate(line, mLineIndex: 0, mid: "0") == .ignore(.tooEarly))
        let offer = try Fixture.load("chromium-4-with-data.offer").text
        _ = try state.exchange(offer)
        let ufrag = try #require(state.remoteICEUfrag)
        let added = OnRemoteCandidate.add(mLineIndex: 0, line: "candidate:1 1 UDP 1 192.0.2.2 5 typ host")
        #expect(state.innerCandidate(line, mLineIndex: 0, mid: "0") == added)
        #expect(state.innerCandidate(line, mLineIndex: nil, mid: nil) == added)
        #expect(state.innerCandidate(line, mLineIndex: 0, mid: "video") == added)
        #expect(state.innerCandidate(line, mLineIndex: 9, mid: "1") == added)
        #expect(state.innerCandidate(line + " ufrag \(ufrag)", mLineIndex: 0, mid: nil) != .ignore(.stale))
        #expect(state.innerCandidate(line + " ufrag old1", mLineIndex: 0, mid: nil) == .ignore(.stale))
        #expect(state.innerCandidate("nonsense", mLineIndex: 0, mid: nil) == .ignore(.malformed))
        #expect(
            state.innerCandidate(line.replacing(" 1 udp", with: " 2 udp"), mLineIndex: 0, mid: nil)
                == .ignore(.notMuxed)
        )
        #expect(state.innerCandidate(line.replacing("udp", with: "tcp"), mLineIndex: 0, mid: nil) == .ignore(.tcp))
        let hidden = line.replacing("192.0.2.2", with: "7f.local")
        #expect(
            state.innerCandidate(hidden, mLineIndex: 1, mid: nil)
                == .resolve(mLineIndex: 0, candidate: try #require(CandidateLine(hidden)))
        )
        let withHidden = offer.replacing("a=mid:0", with: "a=\(hidden)\r\na=mid:0")
        #expect(
            try state.unresolvedCandidates(in: SessionDescription(parsing: withHidden)).map(\.address) == ["7f.local"]
        )
        var tcp = try makeState(NegotiationPolicy(usesICETCP: true))
        _ = try tcp.exchange(offer)
        #expect(tcp.innerCandidate(line.replacing("udp", with: "tcp"), mLineIndex: 0, mid: nil) != .ignore(.tcp))
    }

    @Test func candidatesOfAnUnbundledLineAreIgnored() throws {
        var state = try makeState()
        var offer = try SessionDescription(parsing: Fixture.load("chromium-1-audio-video.offer").text)
        offer.lines = offer.lines.map { $0.value.hasPrefix("group:BUNDLE") ? .attribute("group", "BUNDLE 0") : $0 }
        _ = try state.exchange(offer.text)
        #expect(state.negotiatedMedia.map(\.kind) == [.audio])
        let line = "candidate:1 1 udp 1 192.0.2.2 5 typ host"
        #expect(state.innerCandidate(line, mLineIndex: 1, mid: nil) == .ignore(.unusedMedia))
    }

    @Test func ourCandidatesGoOutUnderThePeersNames() throws {
        var state = try makeState()
        #expect(state.outerCandidate(innerMLineIndex: 0, line: "candidate:1 1 UDP 1 192.0.2.1 9 typ host") == nil)
        let outer = try state.exchange(Fixture.load("chromium-data-first.offer").text)
        let mine = try #require(
            state.outerCandidate(innerMLineIndex: 0, line: "a=candidate:1 1 UDP 1 192.0.2.1 9 typ host")
        )
        #expect(mine == (1, "1", "candidate:1 1 UDP 1 192.0.2.1 9 typ host"))
        #expect(state.outerCandidate(innerMLineIndex: 1, line: mine.line) == nil)
        #expect(state.outerCandidate(innerMLineIndex: 0, line: "candidate:1 1 TCP 1 192.0.2.1 9 typ host") == nil)
        #expect(state.outerCandidate(innerMLineIndex: 0, line: "") == nil)
        let description = state.embedding(
            candidates: [mine.line, "rubbish"],
            isComplete: true,
            in: try SessionDescription(parsing: outer)
        )
        let text = description.text
        #expect(description.media.map(\.candidates.count) == [0, 1, 0])
        #expect(text.contains("a=end-of-candidates\r\n"))
        let empty = SessionDescription(lines: description.lines, media: [])
        #expect(state.embedding(candidates: [mine.line], isComplete: false, in: empty) == empty)
    }

    @Test func candidatesInsideTheOfferReachWebrtcbin() throws {
        var state = try makeState()
        guard case .apply(let inner) = try state.offerReceived(Fixture.load("janus-videoroom-1-one-feed.offer").text)
        else {
            return
        }
        let media = try SessionDescription(parsing: inner).media
        #expect(media.map(\.candidates.count) == [1, 0])
    }

    /// Chromium's are on its data channels, webrtcbin's on its audio.
    @Test(arguments: [("chromium-data-first", true, [2, 0]), ("gstreamer", false, [3])])
    func candidatesOnAnMLineThatIsRefusedReachWebrtcbin(_ name: String, takesAudio: Bool, counts: [Int]) throws {
        var state = try makeState(takesAudio ? NegotiationPolicy() : NegotiationPolicy(receivedAudio: []))
        let offer = try SessionDescription(parsing: Fixture.load("\(name).offer").text)
        guard case .apply(let inner) = try state.offerReceived(offer) else {
            Issue.record("webrtcbin has to be told")
            return
        }
        #expect(state.refusedMedia.map { $0.outerIndex } == [0])
        let media = try SessionDescription(parsing: inner).media
        #expect(media.map(\.candidates.count) == counts)
        #expect(media[0].candidates == offer.media[0].candidates.filter { !$0.isTCP })
        // Those of another ICE session are not the transport's.
        var other = try makeState(takesAudio ? NegotiationPolicy() : NegotiationPolicy(receivedAudio: []))
        var strange = offer
        strange.media[0].lines = strange.media[0].lines.map {
            $0.value.hasPrefix("ice-ufrag:") ? .attribute("ice-ufrag", "other") : $0
        }
        guard case .apply(let without) = try other.offerReceived(strange) else {
            Issue.record("webrtcbin has to be told")
            return
        }
        #expect(try SessionDescription(parsing: without).media.allSatisfy { $0.candidates.isEmpty })
    }

    @Test func candidatesOnAnMLineThatTheAnswerLosesReachWebrtcbin() throws {
        var state = try makeState()
        _ = try state.offerCreated(inner: SimulatedWebRTCBin().offer())
        let answer = try Fixture.load("gstreamer.answer").text.replacing(" OPUS/48000/2", with: " L16/48000/2")
        let media = try SessionDescription(parsing: state.answerReceived(answer)).media
        #expect(state.refusedMedia.map { $0.outerIndex } == [0])
        #expect(media.map(\.candidates.count) == [3, 0])
    }

    @Test func candidatesThatAnotherOfferAddsAreJudged() throws {
        var state = try makeState()
        let first = try SessionDescription(parsing: Fixture.load("chromium-1-audio-video.offer").text)
        _ = try state.exchange(first.text)
        #expect(state.onNewCandidates.isEmpty)
        let line = "candidate:77 1 UDP 1 192.0.2.77 5 typ host"
        let hidden = line.replacing("192.0.2.77", with: "7f.local")
        var second = first
        second.media[0].lines += [SDPLine("a", line), SDPLine("a", hidden)]
        guard case .reply = try state.offerReceived(second) else {
            Issue.record("only candidates came")
            return
        }
        let resolved = OnRemoteCandidate.resolve(mLineIndex: 0, candidate: try #require(CandidateLine(hidden)))
        #expect(state.onNewCandidates == [.add(mLineIndex: 0, line: line), resolved])
        // The same offer again brings nothing new.
        _ = try state.exchange(second.text)
        #expect(state.onNewCandidates.isEmpty)
    }

    @Test func aLineThatIsTooLongWithItsPrefixIsRefused() {
        let bare = "1 1 udp 1 192.0.2.1 9 typ host ufrag "
        let longest = bare + String(repeating: "u", count: 1024 - bare.utf8.count - "candidate:".utf8.count)
        #expect(CandidateLine(longest) != nil)
        #expect(CandidateLine(longest + "u") == nil)
    }
}
