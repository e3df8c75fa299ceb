// SPDX-License-Identifier: Apache-2.0

import Basics
import SDP
import Testing

@Suite struct SessionDescriptionTests {
    private let head = "v=0\r\no=alice 12 3 IN IP4 0.0.0.0\r\ns=-\r\n"

    @Test func lineEndsAndBlankLinesAreTolerated() throws {
        let text = self.head + "m=audio 9 UDP/TLS/RTP/SAVPF 111\r\na=mid:0\r\n"
        let expected = try SessionDescription(parsing: text)
        for variant in [
            text.replacing("\r\n", with: "\n"), text.replacing("\r\n", with: "\r\r\n"),
            text.replacing("\r\n", with: "\r\n\r\n"), String(text.dropLast()), "\r\n" + text,
        ] {
            #expect(try SessionDescription(parsing: variant) == expected)
        }
        #expect(expected.origin?.user == "alice")
        #expect(expected.origin?.version == 3)
    }

    @Test func repeatedPayloadTypesAreDropped() throws {
        let munged = try SessionDescription(parsing: Fixture.load("libwebrtc-plan-b-munged.offer").text)
        #expect(munged.media[1].formats == ["125", "96", "97", "98", "99", "100", "101", "127", "124"])
        let odd = try SessionDescription(
            parsing: self.head + "m=audio 9 RTP/SAVPF 8 x 8 128 -1 0 008 300 99999999999\r\n"
        )
        #expect(odd.media[0].formats == ["8", "0"])
    }

    @Test func attributesAreInherited() throws {
        let text =
            self.head + "a=setup:active\r\na=ice-ufrag:abcd\r\na=ice-pwd:0123456789012345678901\r\na=recvonly\r\n"
        let session = try SessionDescription(
            parsing: text + "m=audio 9 UDP/TLS/RTP/SAVPF 0\r\nm=video 0 x 96\r\na=sendonly\r\n"
        )
        #expect(session.setup(of: session.media[0]) == .active)
        #expect(session.iceCredentials(of: session.media[0])?.ufrag == "abcd")
        #expect(session.direction(of: session.media[0]) == .recvonly)
        #expect(session.direction(of: session.media[1]) == .sendonly)
        #expect(session.media[0].rtpFormats.first?.codec == .pcmu)
        #expect(session.media[1].rtpFormats.isEmpty)
    }

    @Test func formatsCarryWhatIsSaidOfThem() throws {
        let media = try SessionDescription(parsing: Fixture.load("firefox-1-audio-video.offer").text).media[1]
        let formats = media.rtpFormats
        #expect(formats.count == 9)
        #expect(formats[0].codec == .vp8)
        #expect(formats[0].feedback.contains("nack pli"))
        #expect(formats[1].isRTX && formats[1].associatedPayloadType == 120)
        #expect(media.headerExtensions[7]?.hasSuffix("transport-wide-cc-extensions-01") == true)
        #expect(media.msid?.stream.hasPrefix("{") == true)
        #expect(media.sources.map(\.isRTX) == [false, true])
        let old = try SessionDescription(parsing: Fixture.load("libwebrtc-plan-b-1-audio-video.offer").text).media[1]
        let h264 = try #require(old.rtpFormats.first { $0.payloadType == 108 })
        #expect(h264.packetizationMode == 0)
        #expect(h264.h264Profile == .constrainedBaseline)
    }

    @Test(arguments: [
        ("42e01f", H264Profile.constrainedBaseline), ("42001f", .baseline), ("640c1f", .other), ("4d0032", .other),
        ("4d801f", .constrainedBaseline), ("58c01f", .constrainedBaseline), ("42E034", .constrainedBaseline),
    ])
    func h264ProfilesAreComparedNotLevels(_ level: String, _ profile: H264Profile) throws {
        let text =
            self.head
            + "m=video 9 UDP/TLS/RTP/SAVPF 96\r\na=rtpmap:96 h264/90000\r\na=fmtp:96 profile-level-id=\(level)\r\n"
        #expect(try SessionDescription(parsing: text).media[0].rtpFormats[0].h264Profile == profile)
    }

    @Test func otherThingsAreVisible() throws {
        let simulcast = try SessionDescription(parsing: Fixture.load("chromium-simulcast.offer").text)
        #expect(simulcast.media[0].hasSimulcast)
        let data = try SessionDescription(parsing: Fixture.load("chromium-data-first.offer").text)
        #expect(data.media[0].sctpPort == 5000)
        #expect(try SessionDescription(parsing: Fixture.load("camera-without-mid.offer").text).isICELite)
        #expect(try SessionDescription(parsing: Fixture.load("libwebrtc-plan-b-sdes.offer").text).media[0].hasCrypto)
    }

    @Test func limitsHold() throws {
        func code(_ text: String) -> SDPError.Code? {
            do {
                _ = try SessionDescription(parsing: text)
                return nil
            } catch {
                return error.code
            }
        }
        #expect(code(self.head + String(repeating: "m=audio 9 RTP/SAVPF 0\r\n", count: SDPLimits.mediaLines)) == nil)
        #expect(
            code(self.head + String(repeating: "m=audio 9 RTP/SAVPF 0\r\n", count: SDPLimits.mediaLines + 1))
                == .tooLarge
        )
        #expect(code(self.head + String(repeating: "m=audio 9 RTP/SAVPF 0\r\n", count: 10_000)) == .tooLarge)
        #expect(code(self.head + String(repeating: "a=\r\n", count: SDPLimits.lines)) == .tooLarge)
        #expect(code(self.head + "a=" + String(repeating: "x", count: SDPLimits.bytes)) == .tooLarge)
        #expect(code(self.head + "m=audio 9 RTP/SAVPF" + String(repeating: " 0", count: 257)) == .tooLarge)
        #expect(code(self.head + "a=x\u{0}y\r\n") == .garbage)
        #expect(code(self.head + "m=audio 65536 RTP/SAVPF 0\r\n") == .garbage)
        #expect(code(self.head + "nonsense\r\n") == .garbage)
        #expect(code("v=1\r\n") == .garbage)
        #expect(code("v=0\r\no=-\r\n") == .garbage)
    }

    @Test func sourcesAreBounded() throws {
        let lines = (0..<500).map { "a=ssrc:\($0) cname:x\r\n" }.joined()
        let text =
            self.head + "m=video 9 UDP/TLS/RTP/SAVPF 96\r\n" + lines
            + "a=ssrc:4294967296 cname:x\r\na=ssrc-group:FID 0 1\r\n"
        let sources = try SessionDescription(parsing: text).media[0].sources
        #expect(sources.count == SDPLimits.sourcesPerMediaLine)
        #expect(sources[1].repairs == 0)
    }
}
