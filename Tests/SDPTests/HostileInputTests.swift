// SPDX-License-Identifier: Apache-2.0

import Basics
import SDP
import TestSupport
import Testing

/// Whatever a peer sends ends in a description or an error, and nothing that goes to webrtcbin is ever malformed.
@Suite struct HostileInputTests {

    /// Drives a text as first and as later offer, or as answer; checks what would go to webrtcbin.
    private func drive(_ text: String, asAnswer: Bool) throws {
        if asAnswer {
            var offering = Self.offering
            if let inner = try? offering?.answerReceived(text) { try self.check(inner) }
            return
        }
        var first = try makeState(NegotiationPolicy(sentVideo: [.vp8]))
        if case .apply(let inner)? = try? first.offerReceived(text) {
            try self.check(inner)
            let answer = try first.answerCreated(inner: SimulatedWebRTCBin(sends: true).answer(inner))
            _ = try SessionDescription(parsing: answer.outer)
        }
        var later = Self.established
        if case .apply(let inner)? = try? later?.offerReceived(text) { try self.check(inner) }
    }

    private static let established: NegotiationState? = {
        guard var state = try? makeState(), let offer = try? Fixture.load("chromium-1-audio-video.offer").text else {
            return nil
        }
        _ = try? state.exchange(offer)
        return state
    }()

    private static let offering: NegotiationState? = {
        guard var state = try? makeState() else { return nil }
        _ = try? state.offerCreated(inner: SimulatedWebRTCBin().offer())
        return state
    }()

    private func check(_ inner: String) throws {
        let description = try SessionDescription(parsing: inner)
        let mids = description.media.compactMap(\.mid)
        #expect(description.bundleGroups == [mids])
        for media in description.media {
            #expect(media.port == 9)
            #expect(media.kind != nil)
            #expect(media.rtpFormats.first?.codec != nil)
            #expect(description.iceCredentials(of: media) != nil)
            #expect(!description.fingerprints(of: media).isEmpty)
            #expect(description.setup(of: media) != nil)
        }
    }

    @Test(arguments: Fixture.mutated)
    func truncationsAtEveryLine(_ fixture: Fixture) throws {
        #expect(Self.established?.isStable == true && Self.offering?.isStable == false)
        let lines = fixture.text.split(separator: "\r\n", omittingEmptySubsequences: false)
        for count in lines.indices {
            // Cut between two lines and, at odd ones, in the middle of the next.
            let half = count.isMultiple(of: 2) ? [] : [lines[count].prefix(lines[count].count / 2)]
            try self.drive((lines.prefix(count) + half).joined(separator: "\r\n"), asAnswer: fixture.isAnswer)
        }
    }

    @Test(arguments: Fixture.mutated)
    func randomMutations(_ fixture: Fixture) throws {
        var generator = SeededGenerator(seed: 20_261_121)
        let original = Array(fixture.text.utf8)
        for _ in 0..<40 {
            var bytes = original
            for _ in 0..<Int.random(in: 1...12, using: &generator) {
                let position = Int.random(in: 0..<bytes.count, using: &generator)
                switch Int.random(in: 0..<4, using: &generator) {
                case 0: bytes[position] = UInt8.random(in: 0...255, using: &generator)
                case 1: bytes.remove(at: position)
                case 2: bytes.insert(contentsOf: Array("99999999999999999999".utf8), at: position)
                default:
                    let end = min(position + Int.random(in: 1...200, using: &generator), bytes.count)
                    bytes.insert(contentsOf: bytes[position..<end], at: position)
                }
            }
            try self.drive(String(decoding: bytes, as: UTF8.self), asAnswer: fixture.isAnswer)
        }
    }

    @Test(arguments: Fixture.offers)
    func hugeNumbers(_ fixture: Fixture) throws {
        for huge in ["18446744073709551616", "-1", "4294967296", "0", "１２"] {
            var text = ""
            var digits = false
            for character in fixture.text {
                let isDigit = character.isNumber
                if isDigit, !digits { text += huge } else if !isDigit { text.append(character) }
                digits = isDigit
            }
            try self.drive(text, asAnswer: false)
            try self.drive(
                fixture.text.replacing("rtpmap:", with: "rtpmap:\(huge)").replacing("apt=", with: "apt=\(huge)"),
                asAnswer: false
            )
            try self.drive(
                fixture.text.replacing("a=ssrc:", with: "a=ssrc:\(huge)").replacing("extmap:", with: "extmap:\(huge)"),
                asAnswer: false
            )
        }
    }

    /// The accepted part of a description is bounded: it does not grow with the description.
    @Test func ofTooMuchIsTakenALimitedAmount() throws {
        let offer = try Fixture.load("chromium-1-audio-video.offer").text
        var base = try SessionDescription(parsing: offer)
        let format = try #require(base.media[1].rtpFormats.first)
        let room = SDPLimits.linesPerMediaLine - base.media[1].lines.count
        for number in 0..<room {
            let name = number.isMultiple(of: 2) ? "fmtp" : "rtcp-fb"
            base.media[1].lines.append(.attribute(name, "\(format.payloadType) \(name)\(number)"))
        }
        let read = try SessionDescription(parsing: base.text)
        #expect(read.media[1].lines.count == SDPLimits.linesPerMediaLine)
        let flooded = try #require(read.media[1].rtpFormats.first)
        #expect(flooded.parameters.split(separator: ";").count <= SDPLimits.linesPerFormat)
        #expect(flooded.feedback.count == SDPLimits.linesPerFormat)
        #expect(flooded.feedback.starts(with: format.feedback))
        try self.drive(read.text, asAnswer: false)
        base.media[1].lines.append(.attribute("fmtp", "\(format.payloadType) x"))
        let error = #expect(throws: SDPError.self) { try SessionDescription(parsing: base.text) }
        #expect(error?.code == .tooLarge)
    }

    @Test func ofAGroupThatFillsTheDescriptionTheFirstMidsAreTaken() throws {
        let offer = try Fixture.load("chromium-1-audio-video.offer").text
        var base = try SessionDescription(parsing: offer)
        let groups = try #require(base.bundleGroups.first)
        let many = (SDPLimits.bytes - offer.utf8.count - 100) / 2
        base.lines = base.lines.map { line in
            guard line.value.hasPrefix("group:BUNDLE") else { return line }
            return .attribute("group", "BUNDLE " + groups.joined(separator: " ") + String(repeating: " x", count: many))
        }
        let read = try SessionDescription(parsing: base.text)
        #expect(read.bundleGroups.map(\.count) == [SDPLimits.mediaLines])
        #expect(read.bundleGroups[0].starts(with: groups))
        var state = try makeState()
        guard case .apply = try state.offerReceived(read.text) else {
            Issue.record("the offer is not taken")
            return
        }
        var several = base
        several.lines += (0..<1000).map { .attribute("group", "BUNDLE \($0)") }
        several.lines = several.lines.filter { $0.value.utf8.count < 1000 }
        #expect(try SessionDescription(parsing: several.text).bundleGroups.count == SDPLimits.groups)
    }

    @Test func newLinesForEverEndInARebuild() throws {
        let base = try SessionDescription(parsing: Fixture.load("chromium-1-audio-video.offer").text)
        var state = try makeState()
        _ = try state.exchange(base.text)
        var last: OnOffer?
        for round in 0..<200 {
            var offer = base
            offer.lines = offer.lines.map {
                $0.value.hasPrefix("group:BUNDLE") ? .attribute("group", "BUNDLE 0 r\(round)") : $0
            }
            offer.media[1].lines = offer.media[1].lines.map {
                $0.value == "mid:1" ? .attribute("mid", "r\(round)") : $0
            }
            last = try state.offerReceived(offer.text)
            guard case .apply(let inner)? = last else { break }
            _ = try state.answerCreated(inner: SimulatedWebRTCBin().answer(inner))
        }
        #expect(last == .rebuild(.noRoom))
    }

    /// As from a camera that is replaced again and again: webrtcbin keeps every source, so a new connection comes before
    /// the first that it would drop.
    @Test func newSourcesForEverEndInARebuild() throws {
        let base = try SessionDescription(parsing: Fixture.load("chromium-1-audio-video.offer").text)
        var state = try makeState()
        var last: OnOffer?
        var named: Set<UInt32> = []
        for round in UInt32(0)..<400 {
            var offer = base
            offer.media[1].lines = offer.media[1].lines.filter { !$0.value.hasPrefix("ssrc") }
            offer.media[1].lines.append(.attribute("ssrc", "\(1000 + round) cname:camera"))
            last = try state.offerReceived(offer.text)
            if case .apply(let inner)? = last { _ = try state.answerCreated(inner: SimulatedWebRTCBin().answer(inner)) }
            guard case .rebuild? = last else {
                named.formUnion(state.negotiatedMedia.flatMap(\.remoteSources).map(\.ssrc))
                continue
            }
            break
        }
        #expect(last == .rebuild(.noRoom))
        #expect(named.count == SDPLimits.sources)
        var fresh = try makeState()
        guard case .apply = try fresh.offerReceived(base.text) else {
            Issue.record("the new connection does not take it")
            return
        }
    }
}
