// SPDX-License-Identifier: Apache-2.0

import Basics
import SDP
import Testing

/// Forms that standards allow peers to write, and other forms that peers write: all are accepted.
@Suite struct VariantTests {
    /// An offer with one m-line, of which the words behind `m=` and the lines below it are given.
    private static func offer(_ mLine: String, _ lines: [String], session: [String] = ["a=group:BUNDLE 0"]) -> String {
        let head = ["v=0", "o=- 1 1 IN IP4 127.0.0.1", "s=-", "t=0 0"] + session
        let transport = [
            "c=IN IP4 0.0.0.0", "a=mid:0", "a=ice-ufrag:abcd", "a=ice-pwd:0123456789012345678901", "a=setup:actpass",
            "a=fingerprint:sha-256 \([String](repeating: "EE", count: 32).joined(separator: ":"))", "a=sendonly",
            "a=rtcp-mux",
        ]
        return (head + ["m=\(mLine)"] + transport + lines).map { "\($0)\r\n" }.joined()
    }

    private func settle(
        _ mLine: String,
        _ lines: [String],
        session: [String] = ["a=group:BUNDLE 0"]
    ) throws -> (codec: NegotiatedCodec?, answer: [String]) {
        var state = try makeState()
        let answer: SessionDescription
        switch try state.offerReceived(Self.offer(mLine, lines, session: session)) {
        case .apply(let inner): answer = try state.answerCreated(inner: SimulatedWebRTCBin().answer(inner)).outer
        case .decline(let outer, _): answer = outer
        case .reply(let outer): answer = outer
        case .rebuild(let reason):
            Issue.record("rebuild: \(reason)")
            return (nil, [])
        }
        let read = try SessionDescription(parsing: answer)
        #expect(read.media.count == 1 && (read.media[0].port == 0) == state.negotiatedMedia.isEmpty)
        return (state.negotiatedMedia.first?.codec, read.media[0].lines.map(\.value))
    }

    /// The codec chosen from an audio m-line with these formats, and its name in the answer.
    @Test(arguments: [
        ("111", ["rtpmap:111 opus/48000/2"], "opus 111", "rtpmap:111 opus/48000/2"),
        ("111", ["rtpmap:111 OPUS/48000/2"], "opus 111", "rtpmap:111 opus/48000/2"),
        ("111", ["rtpmap:111 Opus/48000/2 "], "opus 111", "rtpmap:111 opus/48000/2"),
        ("111", ["rtpmap:111\topus/48000/2"], "opus 111", "rtpmap:111 opus/48000/2"),
        ("111", ["rtpmap: 111  opus/48000/2"], "opus 111", "rtpmap:111 opus/48000/2"),
        // No sender should write these (RFC 7587 section 7); they mean the same.
        ("111", ["rtpmap:111 opus/48000"], "opus 111", "rtpmap:111 opus/48000"),
        ("111", ["rtpmap:111 opus/48000/1"], "opus 111", "rtpmap:111 opus/48000"),
        ("96 97", ["rtpmap:96 opus/48000", "rtpmap:97 opus/48000/2"], "opus 97", "rtpmap:97 opus/48000/2"),
        ("111", ["rtpmap:111 multiopus/48000/6"], "", ""), ("111", ["rtpmap:111 opus/48000/6"], "", ""),
        ("111", ["rtpmap:111 opus/16000/2"], "", ""), ("111", ["rtpmap:111 opus"], "", ""),
        // Whatever the parameters look like.
        (
            "111", ["rtpmap:111 opus/48000/2", "fmtp:111 minptime=10; useinbandfec=1;"], "opus 111",
            "rtpmap:111 opus/48000/2"
        ),
        ("111", ["rtpmap:111 opus/48000/2", "fmtp:111 ;;"], "opus 111", "rtpmap:111 opus/48000/2"),
        ("111", ["rtpmap:111 opus/48000/2", "fmtp:111"], "opus 111", "rtpmap:111 opus/48000/2"),
        (
            "111", ["fmtp:111 STEREO=1;cbr", "fmtp:111 x", "rtpmap:111 opus/48000/2"], "opus 111",
            "rtpmap:111 opus/48000/2"
        ),
        // The static payload types, described or not (RFC 3551 section 6).
        ("0", [], "pcmu 0", "rtpmap:0 PCMU/8000"), ("8", [], "pcma 8", "rtpmap:8 PCMA/8000"),
        ("0", ["rtpmap:0 pcmu/8000/1"], "pcmu 0", "rtpmap:0 PCMU/8000"), ("8 0", [], "pcmu 0", "rtpmap:0 PCMU/8000"),
        ("98", ["rtpmap:98 PCMA/8000"], "pcma 98", "rtpmap:98 PCMA/8000"), ("98", ["rtpmap:98 PCMA/16000"], "", ""),
        ("9 13", [], "", ""), ("0 111", ["rtpmap:111 opus/48000/2"], "opus 111", "rtpmap:111 opus/48000/2"),
        // Where browsers go when those above 95 are used up; between are those of RTCP (RFC 5761 section 4).
        ("63 35", ["rtpmap:63 red/48000/2", "rtpmap:35 opus/48000/2"], "opus 35", "rtpmap:35 opus/48000/2"),
        ("72", ["rtpmap:72 opus/48000/2"], "", ""),
        ("72 96", ["rtpmap:72 opus/48000/2", "rtpmap:96 opus/48000/2"], "opus 96", "rtpmap:96 opus/48000/2"),
    ])
    func audioIsChosen(_ formats: String, _ lines: [String], _ codec: String, _ map: String) throws {
        let (chosen, answer) = try self.settle("audio 9 UDP/TLS/RTP/SAVPF \(formats)", lines.map { "a=\($0)" })
        #expect(chosen.map { "\($0.codec.rawValue) \($0.payloadType)" } ?? "" == codec)
        if !map.isEmpty { #expect(answer.contains(map)) }
    }

    /// The codec chosen from a video m-line, and its parameters in the answer.
    @Test(
        arguments: [
            ("96", ["rtpmap:96 vp8/90000"], "vp8 96", nil),
            ("96", ["rtpmap:96 Vp8/90000", "fmtp:96 max-fr=30;"], "vp8 96", nil),
            ("37 96", ["rtpmap:37 VP8/90000", "rtpmap:96 AV1/90000"], "vp8 37", nil),
            ("96 97", ["rtpmap:96 VP9/90000", "fmtp:96 profile-id=2", "rtpmap:97 vp9/90000"], "vp9 97", nil),
            ("96", ["rtpmap:96 VP9/90000", "fmtp:96 PROFILE-ID=0"], "vp9 96", "profile-id=0"),
            // The defaults of RFC 6184 section 8.1: mode 0, baseline.
            ("96", ["rtpmap:96 H264/90000"], "h264 96", "level-asymmetry-allowed=1;packetization-mode=0"),
            (
                "96", ["rtpmap:96 h264/90000", "fmtp:96 packetization-mode=1"], "h264 96",
                "level-asymmetry-allowed=1;packetization-mode=1"
            ),
            (
                "96", ["rtpmap:96 H264/90000", "fmtp:96 Profile-Level-ID=42E01F ; Packetization-Mode=1 ;"], "h264 96",
                "level-asymmetry-allowed=1;packetization-mode=1;profile-level-id=42E01F"
            ),
            (
                "96", ["rtpmap:96 H264/90000", "fmtp:96 packetization-mode=1", "fmtp:96 profile-level-id=640c1f"],
                "h264 96",
                "level-asymmetry-allowed=1;packetization-mode=1;profile-level-id=640c1f"
            ),
            (
                "96 98",
                [
                    "rtpmap:96 H264/90000", "rtpmap:98 H264/90000",
                    "fmtp:98 packetization-mode=1;profile-level-id=42e01f",
                ],
                "h264 98", "level-asymmetry-allowed=1;packetization-mode=1;profile-level-id=42e01f"
            ),
            (
                "96", ["rtpmap:96 H264/90000", "fmtp:96 packetization-mode"], "h264 96",
                "level-asymmetry-allowed=1;packetization-mode=0"
            ),
            ("96", ["rtpmap:96 H264/90000", "fmtp:96 profile-level-id=xyz"], "", nil),
            ("96", ["rtpmap:96 H264/90000", "fmtp:96 packetization-mode=2"], "", nil),
            ("96", [], "", nil), ("96", ["rtpmap:96 VP8"], "", nil), ("96", ["rtpmap:97 VP8/90000"], "", nil),
        ] as [(String, [String], String, String?)]
    )
    func videoIsChosen(_ formats: String, _ lines: [String], _ codec: String, _ parameters: String?) throws {
        let (chosen, answer) = try self.settle("video 9 UDP/TLS/RTP/SAVPF \(formats)", lines.map { "a=\($0)" })
        #expect(chosen.map { "\($0.codec.rawValue) \($0.payloadType)" } ?? "" == codec)
        let named = answer.first { $0.hasPrefix("fmtp:\(chosen?.payloadType ?? 0) ") }
        if chosen != nil { #expect(named.map { String($0.split(separator: " ", maxSplits: 1)[1]) } == parameters) }
    }

    /// Repairs are named in any case, and may have other parameters.
    @Test func repairsAreFound() throws {
        let lines = [
            "a=rtpmap:96 VP8/90000", "a=rtcp-fb:96 nack", "a=rtpmap:97 RTX/90000", "a=fmtp:97 rtx-time=3000; APT=96",
            "a=rtpmap:98 rtx/90000", "a=fmtp:98 apt=99",
        ]
        let codec = try #require(try self.settle("video 9 UDP/TLS/RTP/SAVPF 96 97 98", lines).codec)
        #expect(codec.rtxPayloadType == 97)
    }

    /// All that RFC 8829 section 5.1.2 wants to be taken; the answer repeats the word.
    @Test(arguments: [
        ("UDP/TLS/RTP/SAVPF", true), ("RTP/SAVPF", true), ("UDP/TLS/RTP/SAVP", true), ("TCP/DTLS/RTP/SAVPF", true),
        ("TCP/DTLS/RTP/SAVP", true), ("TCP/TLS/RTP/SAVPF", true), ("RTP/SAVP", true), ("udp/tls/rtp/savpf", true),
        ("RTP/AVPF", false), ("RTP/AVP", false), ("rtp/avp", false), ("UDP", false),
    ])
    func transportsAreTaken(_ transport: String, _ isTaken: Bool) throws {
        var state = try makeState()
        let offer = Self.offer("audio 9 \(transport) 0", [])
        let decision = try state.offerReceived(offer)
        switch decision {
        case .apply(let inner):
            #expect(isTaken)
            let answer = try state.answerCreated(inner: SimulatedWebRTCBin().answer(inner)).outer
            #expect(answer.media[0].protocolName == transport && answer.media[0].port != 0)
        case .decline(let answer, _):
            #expect(!isTaken)
            #expect(answer.media[0].protocolName == transport && answer.media[0].port == 0)
        default: Issue.record("\(decision)")
        }
    }

    /// BUNDLE among other groups, and m-lines that have no transport but that of the group (RFC 9143 section 6).
    @Test(arguments: [
        (["a=group:BUNDLE 0"], "9", "", true), (["a=group:LS 0", "a=group:BUNDLE 0"], "9", "", true),
        (["a=group:FID 0", "a=group:Bundle 0", "a=group:BUNDLE x"], "9", "", true),
        (["a=group:BUNDLE 0"], "0", "a=bundle-only", true), (["a=group:BUNDLE 0"], "0", "", false),
        (["a=group:LS 0"], "0", "a=bundle-only", false), (["a=group:BUNDLE x"], "9", "", false), ([], "9", "", true),
    ])
    func groupsAreRead(_ session: [String], _ port: String, _ line: String, _ isTaken: Bool) throws {
        let lines = line.isEmpty ? [] : [line]
        #expect(try (self.settle("audio \(port) UDP/TLS/RTP/SAVPF 0", lines, session: session).codec != nil) == isTaken)
    }

    /// Header extensions may stand above the m-lines, for all of them (RFC 8285 section 5).
    @Test func extensionsOfTheWholeSessionCount() throws {
        let extensions = [
            "a=extmap:5 urn:ietf:params:rtp-hdrext:ssrc-audio-level",
            "a=extmap:6 http://www.ietf.org/id/draft-holmer-rmcat-transport-wide-cc-extensions-01",
        ]
        let lines = ["a=rtcp-fb:0 transport-cc"]
        let (codec, answer) = try self.settle(
            "audio 9 UDP/TLS/RTP/SAVPF 0",
            lines,
            session: ["a=group:BUNDLE 0"] + extensions
        )
        #expect(codec?.audioLevelID == 5 && codec?.transportCCID == 6)
        #expect(
            answer.contains(String(extensions[0].dropFirst(2))) && answer.contains(String(extensions[1].dropFirst(2)))
        )
        // An m-line's own meaning of a number takes precedence.
        let own = "a=extmap:5 urn:ietf:params:rtp-hdrext:toffset"
        let other = try self.settle("audio 9 UDP/TLS/RTP/SAVPF 0", [own], session: ["a=group:BUNDLE 0"] + extensions)
        #expect(other.codec?.audioLevelID == nil)
    }
}
