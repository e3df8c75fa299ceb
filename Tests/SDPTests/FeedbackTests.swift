// SPDX-License-Identifier: Apache-2.0

import Basics
import SDP
import Testing

/// Feedback to a peer is limited to its offer, and RFC 8834 section 5.1 obliges it to understand.
@Suite struct FeedbackTests {
    private static func offer(_ feedback: [String]) throws -> String {
        let lines = try Fixture.load("chromium-1-audio-video.offer").text.split(separator: "\r\n")
        let own = lines.filter { !$0.hasPrefix("a=rtcp-fb:96 ") && !$0.hasPrefix("a=rtcp-fb:111 ") }
        return own.flatMap { line in
            line.hasPrefix("a=rtpmap:96 ") ? [String(line)] + feedback.map { "a=rtcp-fb:\($0)" } : [String(line)]
        }.joined(separator: "\r\n") + "\r\n"
    }

    private static func feedback(_ media: MediaDescription) -> [String] {
        media.rtpFormats.first { $0.payloadType == 96 }?.feedback.sorted() ?? []
    }

    @Test(arguments: [
        (
            ["96 goog-remb", "96 transport-cc", "96 ccm fir", "96 nack", "96 nack pli"],
            ["ccm fir", "nack", "nack pli", "transport-cc"], ["nack", "nack pli", "transport-cc"]
        ),
        (["96 nack pli"], ["nack pli"], ["nack pli"]), (["96 nack"], ["nack"], ["nack", "nack pli"]),
        (["96 ccm fir"], ["ccm fir"], ["ccm fir"]),
        (["96 ccm fir", "96 nack"], ["ccm fir", "nack"], ["ccm fir", "nack"]),
        // Every sender understands PLI.
        ([], [], ["nack pli"]), (["98 nack", "98 ccm fir"], [], ["nack pli"]),
        (["* nack", "* nack pli"], ["nack", "nack pli"], ["nack", "nack pli"]),
        (["* CCM FIR", "96 NACK"], ["ccm fir", "nack"], ["ccm fir", "nack"]),
        (["96  Nack   PLI ", "96 Transport-CC"], ["nack pli", "transport-cc"], ["nack pli", "transport-cc"]),
        (
            ["96 nack sli", "96 nack rpsi", "96 trr-int 100", "96 ack", "96 ccm tmmbr", "96 goog-remb"], [],
            ["nack pli"]
        ),
    ])
    func onlyWhatIsOfferedIsAnswered(_ offered: [String], _ outer: [String], _ inner: [String]) throws {
        var state = try makeState()
        guard case .apply(let told) = try state.offerReceived(Self.offer(offered)) else {
            Issue.record("webrtcbin is not told")
            return
        }
        #expect(try Self.feedback(SessionDescription(parsing: told).media[1]) == inner)
        let answer = try state.answerCreated(inner: SimulatedWebRTCBin().answer(told))
        #expect(try Self.feedback(SessionDescription(parsing: answer.outer).media[1]) == outer)
        // webrtcbin adds what was not offered to its own answer, by which it goes.
        #expect(try Self.feedback(SessionDescription(parsing: answer.inner).media[1]) == inner)
        let transportCC = "transport-wide-cc"
        #expect(
            try SessionDescription(parsing: answer.outer).media[1].headerExtensions.values.contains {
                $0.contains(transportCC)
            } == outer.contains("transport-cc")
        )
    }

    /// An offer in mid-call that names less is answered with less, and webrtcbin is not troubled with it.
    @Test func laterOffersAreAnsweredByThemselves() throws {
        var state = try makeState()
        _ = try state.exchange(Self.offer(["96 nack", "96 nack pli", "96 transport-cc"]))
        guard case .reply(let outer) = try state.offerReceived(Self.offer(["96 nack pli"])) else {
            Issue.record("webrtcbin is told")
            return
        }
        #expect(Self.feedback(outer.media[1]) == ["nack pli"])
        #expect(!outer.text.contains("transport-wide-cc") || outer.media[1].headerExtensions.isEmpty)
    }

    @Test(arguments: [
        (["nack", "nack pli", "ccm fir", "transport-cc"], ["nack", "nack pli", "transport-cc"]),
        (["ccm fir"], ["ccm fir"]), (["Nack", "CCM fir"], ["ccm fir", "nack"]), ([], ["nack pli"]),
    ])
    func answersToOurOffersCount(_ answered: [String], _ inner: [String]) throws {
        var state = try makeState()
        _ = try state.offerCreated(inner: SimulatedWebRTCBin().offer())
        let lines = try Fixture.load("aiortc.answer").text.split(separator: "\r\n").filter {
            !$0.hasPrefix("a=rtcp-fb")
        }
        let text = lines.flatMap { line -> [String] in
            guard let type = ["96", "102"].first(where: { line.hasPrefix("a=rtpmap:\($0) ") }) else {
                return [String(line)]
            }
            return [String(line)] + answered.map { "a=rtcp-fb:\(type) \($0)" }
        }.joined(separator: "\r\n")
        let told = try SessionDescription(parsing: state.answerReceived(text + "\r\n"))
        let codec = try #require(state.negotiatedMedia.first { $0.kind == .video }).codec
        #expect(codec.usesPLI == answered.contains("nack pli"))
        #expect(codec.usesFIR == answered.contains { $0.lowercased() == "ccm fir" })
        let format = told.media[1].rtpFormats.first { $0.payloadType == codec.payloadType }
        #expect(format?.feedback.sorted().filter { $0 != "transport-cc" } == inner.filter { $0 != "transport-cc" })
    }
}
