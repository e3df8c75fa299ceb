// SPDX-License-Identifier: Apache-2.0

internal import Basics
import SDP
import Testing

/// Our order decides what others send: VP8 unless H.264 is asked for; profiles are compared, levels are not.
@Suite struct CodecPreferenceTests {
    private static let peers = [
        "chromium-1-audio-video", "libwebrtc-plan-b", "libwebrtc-plan-b-munged", "libwebrtc-plan-b-1-audio-video",
        "aiortc-h264",
    ]

    private func video(_ offer: String, _ policy: NegotiationPolicy) throws -> (NegotiatedCodec, MediaDescription) {
        var state = try makeState(policy)
        let answer = try SessionDescription(parsing: state.exchange(offer))
        let media = try #require(state.negotiatedMedia.first { $0.kind == .video })
        return (media.codec, answer.media[media.outerIndex])
    }

    @Test(arguments: peers.filter { !$0.hasPrefix("aiortc") })
    func vp8IsAskedForByDefault(_ peer: String) throws {
        let (codec, media) = try self.video(Fixture.load("\(peer).offer").text, NegotiationPolicy())
        #expect(codec.codec == .vp8)
        #expect(media.rtpFormats.first?.encodingName == "VP8")
        #expect(media.rtpFormats.count { !$0.isRTX } == 1)
    }

    @Test(arguments: peers)
    func h264IsAskedForOnRequest(_ peer: String) throws {
        let offer = try Fixture.load("\(peer).offer").text
        let (codec, media) = try self.video(offer, NegotiationPolicy().preferringVideo(.h264))
        #expect(codec.codec == .h264)
        #expect(codec.packetizationMode == 1)
        let format = try #require(media.rtpFormats.first)
        #expect(format.h264Profile == .constrainedBaseline)
        // RFC 6184 section 8.2.2: the profile of the answer is that of the offer, for this payload type.
        let offered = try SessionDescription(parsing: offer).media.flatMap(\.rtpFormats)
        let asked = try #require(offered.first { $0.payloadType == format.payloadType })
        #expect(format.parameter("profile-level-id") == asked.parameter("profile-level-id"))
    }

    /// Old apps name level 3.1, later ones the level of the device.
    @Test(arguments: ["42e01f", "42e034", "42e02a", "42C00b", "4d8028"])
    func levelsDoNotMatter(_ level: String) throws {
        let offer = try Fixture.load("libwebrtc-plan-b.offer").text.replacing("42e01f", with: level)
        let (codec, media) = try self.video(offer, NegotiationPolicy().preferringVideo(.h264))
        #expect(codec.payloadType == 98)
        #expect(media.rtpFormats.first?.parameter("profile-level-id") == level)
    }

    /// Some senders state the parameter sets here, and never in band (RFC 6184 section 8.1).
    @Test(arguments: [
        ("sprop-parameter-sets=Z0LAHw==,aMuMsg==", [[0x67, 0x42, 0xC0, 0x1F], [0x68, 0xCB, 0x8C, 0xB2]]),
        (" Sprop-Parameter-Sets = Z0LAHw , aMuMsg ", [[0x67, 0x42, 0xC0, 0x1F], [0x68, 0xCB, 0x8C, 0xB2]]),
        ("sprop-parameter-sets=Z0LAHw==,***,aMuMsg==", [[0x67, 0x42, 0xC0, 0x1F], [0x68, 0xCB, 0x8C, 0xB2]]),
        ("sprop-parameter-sets=", []), ("sprop-parameter-sets=,,", []), ("x=1", []),
    ])
    func parameterSetsOfTheDescriptionAreKnown(_ parameter: String, _ sets: [[UInt8]]) throws {
        let offer = try Fixture.load("libwebrtc-plan-b.offer").text
            .replacing("packetization-mode=1", with: "packetization-mode=1;\(parameter)")
        let (codec, media) = try self.video(offer, NegotiationPolicy().preferringVideo(.h264))
        #expect(codec.codec == .h264)
        #expect(codec.parameterSets == sets)
        // They are those of what the peer sends: an answer does not repeat them.
        #expect(media.rtpFormats.first?.parameters.contains("sprop") == false)
    }

    /// Media that the peer would send and are not recorded are named; those that it only wants to receive are not.
    @Test(arguments: [("sendrecv", true), ("sendonly", true), ("recvonly", false)])
    func whatIsRefusedIsNamed(_ direction: String, _ isNamed: Bool) throws {
        let offer = try Fixture.load("libwebrtc-plan-b.offer").text
        let (head, video) = try #require(
            offer.firstRange(of: "m=video").map { (offer[..<$0.lowerBound], offer[$0.lowerBound...]) }
        )
        let strange = ["VP8/90000", "VP9/90000", "H264/90000"].reduce(String(video)) {
            $0.replacing($1, with: "XX/90000")
        }
        let text = String(head) + strange.replacing("a=sendrecv", with: "a=\(direction)")
        var state = try makeState(NegotiationPolicy())
        _ = try state.exchange(text)
        #expect(state.refusedSenders.map(\.kind) == (isNamed ? [.video] : []))
        #expect(state.refusedSenders.allSatisfy { !$0.reason.isEmpty })
    }

    @Test func modeZeroAndOtherProfilesAreTakenWhereThereIsNothingBetter() throws {
        let policy = NegotiationPolicy().preferringVideo(.h264)
        let offer = try Fixture.load("libwebrtc-plan-b.offer").text
        let modeZero = offer.replacing("packetization-mode=1", with: "packetization-mode=0")
        #expect(try self.video(modeZero, policy).0.packetizationMode == 0)
        let high = offer.replacing("42e01f", with: "640c1f")
        #expect(try self.video(high, policy).0.payloadType == 96)
        // Interleaved mode cannot be taken: VP8 stays.
        let interleaved = offer.replacing("packetization-mode=1", with: "packetization-mode=2")
        #expect(try self.video(interleaved, policy).0.codec == .vp8)
    }

    /// Our payloader makes parts of frames, which mode 0 does not know.
    @Test func whereWeSendModeZeroGivesWayToWhatCanBeSent() throws {
        let policy = NegotiationPolicy(sentVideo: [.vp8, .h264]).preferringVideo(.h264)
        let offer = try Fixture.load("libwebrtc-plan-b.offer").text
        #expect(try self.video(offer, policy).0.codec == .h264)
        let modeZero = offer.replacing("packetization-mode=1", with: "packetization-mode=0")
        #expect(try self.video(modeZero, policy).0.codec == .vp8)
    }

    @Test(arguments: [MediaCodec.vp8, .h264])
    func ourOffersNameTheAskedForCodecFirst(_ codec: MediaCodec) throws {
        var state = try makeState(NegotiationPolicy().preferringVideo(codec))
        let offer = try state.offerCreated(inner: SimulatedWebRTCBin().offer()).outer
        let formats = try SessionDescription(parsing: offer).media[1].rtpFormats
        #expect(formats.first?.codec == codec)
        #expect(Set(formats.compactMap(\.codec)) == [.vp8, .h264, .vp9])
        let h264 = formats.filter { $0.codec == .h264 }
        #expect(h264.map(\.packetizationMode) == [1, 0])
        #expect(h264.allSatisfy { $0.h264Profile == .constrainedBaseline })
    }
}
