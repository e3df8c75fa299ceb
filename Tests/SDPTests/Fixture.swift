// SPDX-License-Identifier: Apache-2.0

internal import Basics
import Foundation
import SDP
import Testing

/// A description from a real peer, or composed after one; the file name says whose.
struct Fixture: Sendable, CustomTestStringConvertible {
    let name: String
    let text: String

    var isAnswer: Bool { self.name.hasSuffix(".answer") }
    var testDescription: String { self.name }

    static func load(_ name: String) throws -> Fixture {
        let url = Bundle.module.bundleURL.appending(path: "Fixtures").appending(path: "\(name).sdp")
        return Fixture(name: name, text: try String(contentsOf: url, encoding: .utf8))
    }

    /// All fixtures whose name ends so, sorted.
    static func all(_ suffix: String) -> [Fixture] {
        let folder = Bundle.module.bundleURL.appending(path: "Fixtures")
        let files = (try? FileManager.default.contentsOfDirectory(atPath: folder.path)) ?? []
        return files.filter { $0.hasSuffix("\(suffix).sdp") }.sorted().compactMap {
            try? Fixture.load(String($0.dropLast(".sdp".count)))
        }
    }

    static let offers = Self.all(".offer")
    static let answers = Self.all(".answer")

    /// The first of each connection: what mutations start from, which cost much for each text.
    static let mutated = (Self.offers + Self.answers).filter { fixture in
        !(2...9).contains { fixture.name.contains("-\($0)-") }
    }
}

/// Our certificate's fingerprint in tests.
let ownFingerprint = Fingerprint(algorithm: .sha256, digest: [UInt8](repeating: 0xAB, count: 32))

func makeState(_ policy: NegotiationPolicy = NegotiationPolicy()) throws -> NegotiationState {
    NegotiationState(policy: policy, ourFingerprints: [try #require(ownFingerprint)], sessionID: 4_242_424_242)
}

/// Does what webrtcbin 1.22 does with inner descriptions, as far as text goes.
struct SimulatedWebRTCBin {
    static let ice = (ufrag: "wEbRtCbInUfrag00", password: "wEbRtCbInPassword0000000000")
    static let wrongFingerprint = "sha-256 " + [String](repeating: "EE", count: 32).joined(separator: ":")
    /// Whether sink pads are linked, so that it answers `sendrecv`.
    var sends = false
    /// Whether the driver set do-nack.
    var nacks = true

    /// The answer to an inner offer: the first codec, its RTX, no header extensions; of video with feedback that the offer may lack.
    func answer(_ offer: String) throws -> String {
        let offer = try SessionDescription(parsing: offer)
        var text = "v=0\r\no=- 1 1 IN IP4 0.0.0.0\r\ns=-\r\na=ice-options:trickle\r\n"
        for (index, media) in offer.media.enumerated() {
            let mid = try #require(media.mid)
            let format = try #require(media.rtpFormats.first)
            let rtx = self.nacks ? media.rtpFormats.first { $0.associatedPayloadType == format.payloadType } : nil
            let setup = offer.setup(of: media) == .active ? "passive" : "active"
            let ssrc = 1000 + index
            text += "m=\(media.media) 9 UDP/TLS/RTP/SAVPF \(format.payloadType)"
            text += rtx.map { " \($0.payloadType)" } ?? ""
            text += "\r\nc=IN IP4 0.0.0.0\r\na=ice-ufrag:\(Self.ice.ufrag)\r\na=ice-pwd:\(Self.ice.password)\r\n"
            text += "a=mid:\(mid)\r\na=rtcp-mux\r\na=setup:\(setup)\r\n"
            text += "a=rtpmap:\(format.payloadType) \(format.encodingName)/\(format.clockRate)\r\n"
            let added = self.nacks && media.media == "video" ? ["nack", "nack pli"] : []
            for feedback in format.feedback + added.filter({ !format.feedback.contains($0) })
            where self.nacks || feedback != "nack" {
                text += "a=rtcp-fb:\(format.payloadType) \(feedback)\r\n"
            }
            if let rtx {
                text +=
                    "a=rtpmap:\(rtx.payloadType) rtx/\(rtx.clockRate)\r\na=fmtp:\(rtx.payloadType) apt=\(format.payloadType)\r\n"
            }
            if self.sends {
                text += "a=ssrc-group:FID \(ssrc) \(ssrc + 500)\r\n"
                for number in [ssrc, ssrc + 500] {
                    text +=
                        "a=ssrc:\(number) msid:user@host webrtctransceiver\(index)\r\na=ssrc:\(number) cname:user@host\r\n"
                }
            }
            text += self.sends ? "a=sendrecv\r\n" : "a=recvonly\r\n"
            text += "a=fingerprint:\(Self.wrongFingerprint)\r\n"
        }
        return text
    }

    /// An offer for one audio and one video transceiver.
    func offer(direction: Direction = .recvonly, kinds: [MediaKind] = [.audio, .video]) -> String {
        var text = "v=0\r\no=- 77 0 IN IP4 0.0.0.0\r\ns=-\r\nt=0 0\r\na=ice-options:trickle\r\n"
        text += "a=group:BUNDLE \(kinds.enumerated().map { "\($1.rawValue)\($0)" }.joined(separator: " "))\r\n"
        for (index, kind) in kinds.enumerated() {
            let format = kind == .audio ? (111, "OPUS/48000/2") : (96, "VP8/90000")
            text += "m=\(kind.rawValue) \(index == 0 ? 9 : 0) UDP/TLS/RTP/SAVPF \(format.0)\r\nc=IN IP4 0.0.0.0\r\n"
            text += "a=setup:actpass\r\na=ice-ufrag:\(Self.ice.ufrag)\r\na=ice-pwd:\(Self.ice.password)\r\n"
            text += index == 0 ? "" : "a=bundle-only\r\n"
            text += "a=rtcp-mux\r\na=rtcp-rsize\r\na=\(direction.rawValue)\r\na=rtpmap:\(format.0) \(format.1)\r\n"
            if direction.sends {
                text += "a=ssrc-group:FID \(2000 + index) \(2500 + index)\r\n"
                text += "a=ssrc:\(2000 + index) cname:user@host\r\na=ssrc:\(2500 + index) cname:user@host\r\n"
            }
            text += "a=mid:\(kind.rawValue)\(index)\r\na=fingerprint:\(Self.wrongFingerprint)\r\na=rtcp-mux-only\r\n"
        }
        return text
    }
}

extension NegotiationState {
    /// Feeds an offer and, if webrtcbin must be asked, its simulated answer; returns the answer for the peer.
    mutating func exchange(_ offer: String, bin: SimulatedWebRTCBin = SimulatedWebRTCBin()) throws -> String {
        switch try self.offerReceived(offer) {
        case .apply(let inner): return try self.answerCreated(inner: bin.answer(inner)).outer.text
        case .reply(let outer): return outer.text
        case .rebuild(let reason):
            Issue.record("rebuild: \(reason)")
            return ""
        case .decline(_, let reason):
            Issue.record("decline: \(reason)")
            return ""
        }
    }
}

extension String {
    /// The text with CR LF line ends.
    var crlf: String { self.split(separator: "\n", omittingEmptySubsequences: false).joined(separator: "\r\n") }

    func replacing(_ old: String, with new: String) -> String {
        self.replacingOccurrences(of: old, with: new)
    }
}

/// Descriptions as the texts that go from one peer to the other.
extension NegotiationState {
    mutating func offerReceived(_ text: String) throws(SDPError) -> OnOffer {
        try self.offerReceived(SessionDescription(parsing: text))
    }

    mutating func answerReceived(_ text: String) throws(SDPError) -> String {
        try self.answerReceived(SessionDescription(parsing: text))
    }
}

extension SessionDescription {
    /// One of ours as the peer reads it.
    init(parsing ours: SessionDescription) throws(SDPError) {
        try self.init(parsing: ours.text)
    }
}
