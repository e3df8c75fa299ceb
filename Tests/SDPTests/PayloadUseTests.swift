// SPDX-License-Identifier: Apache-2.0

import Basics
import SDP
import Testing

@Suite struct PayloadUseTests {
    /// The offer of Chromium, and the accepted part: Opus, VP8 and its retransmissions.
    @Test(
        arguments: [
            (111, .media(.opus)), (96, .media(.vp8)), (97, .repair), (9, .refused), (13, .refused), (126, .refused),
            (98, .refused), (99, .refused), (118, .refused), (1, .unknown), (72, .unknown), (127, .unknown),
        ] as [(UInt8, PayloadUse)]
    )
    func ofAnOfferOneCodecIsTaken(payloadType: UInt8, use: PayloadUse) throws {
        var state = try makeState()
        #expect(state.use(ofPayloadType: payloadType) == .unknown)
        _ = try state.exchange(Fixture.load("chromium-1-audio-video.offer").text)
        #expect(state.use(ofPayloadType: payloadType) == use)
        #expect(state.innerPayloadTypes == [111, 96, 97])
    }

    /// A peer may send all that we offered, whatever its answer takes of it.
    @Test(
        arguments: [
            (111, .media(.opus)), (0, .media(.pcmu)), (8, .media(.pcma)), (102, .media(.h264)), (104, .media(.h264)),
            (103, .repair), (105, .repair), (96, .media(.vp8)), (97, .repair), (98, .media(.vp9)), (99, .repair),
            (13, .unknown), (126, .unknown),
        ] as [(UInt8, PayloadUse)]
    )
    func ofOurOfferAllIsReceived(payloadType: UInt8, use: PayloadUse) throws {
        var state = try makeState()
        _ = try state.offerCreated(inner: SimulatedWebRTCBin().offer())
        #expect(state.use(ofPayloadType: payloadType) == use)
        _ = try state.answerReceived(Fixture.load("aiortc.answer").text)
        #expect(state.use(ofPayloadType: payloadType) == use)
        #expect(state.innerPayloadTypes == [111, 0, 8, 102, 103, 104, 105, 96, 97, 98, 99])
    }

    /// Every payload type that webrtcbin ever got stays accepted.
    @Test(arguments: Fixture.all(".offer").map(\.name))
    func noneThatWebRTCBinKnowsIsLeftOut(name: String) throws {
        var state = try makeState()
        guard case .apply(let inner)? = try? state.offerReceived(Fixture.load(name).text) else { return }
        let told = try SessionDescription(parsing: inner).media.flatMap(\.formats).compactMap { UInt8($0) }
        #expect(!told.isEmpty && Set(told).isSubset(of: state.innerPayloadTypes))
    }

    /// Nothing is received on an m-line on which we only send.
    @Test
    func whatIsOnlySentIsNotReceived() throws {
        var state = try makeState(NegotiationPolicy(receivedVideo: [], receivedAudio: [], sentVideo: [.vp8]))
        _ = try state.exchange(Fixture.load("chromium-1-audio-video.offer").text)
        #expect(state.use(ofPayloadType: 96) == .refused && state.use(ofPayloadType: 111) == .refused)
        #expect(state.innerPayloadTypes.contains(96))
    }
}
