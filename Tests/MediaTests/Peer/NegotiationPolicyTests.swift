// SPDX-License-Identifier: Apache-2.0

import Basics
import SDP
import Testing

@testable import Media

@Suite struct NegotiationPolicyTests {
    /// A server's offer of one publisher.
    private static let offer = """
        v=0
        o=- 5 1 IN IP4 192.0.2.1
        s=VideoRoom 1234
        t=0 0
        a=group:BUNDLE 0 1
        m=audio 9 UDP/TLS/RTP/SAVPF 111
        a=mid:0
        \(Self.transport)
        a=rtpmap:111 opus/48000/2
        m=video 9 UDP/TLS/RTP/SAVPF 96
        a=mid:1
        \(Self.transport)
        a=rtpmap:96 VP8/90000

        """

    private static let transport = """
        a=sendonly
        a=rtcp-mux
        a=setup:actpass
        a=ice-ufrag:theirs
        a=ice-pwd:theirpasswordtheirpassword
        a=fingerprint:sha-256 \([String](repeating: "AB", count: 32).joined(separator: ":"))
        """

    /// Whether each m-line of the offer gets a sender.
    private static func senders(_ policy: NegotiationPolicy) throws -> [Bool] {
        var state = NegotiationState(policy: policy, ourFingerprints: [])
        _ = try state.offerReceived(SessionDescription(parsing: Self.offer))
        return state.negotiatedMedia.map(\.carriesOurTrack)
    }

    @Test func whoTakesNothingOfUsGetsNoSenders() throws {
        let policy = NegotiationPolicy(sentVideo: [.vp8], sentAudio: [.opus])
        #expect(try Self.senders(policy) == [true, true])
        #expect(try Self.senders(policy.receivingOnly) == [false, false])
        var receiving = NegotiationPolicy()
        receiving.offersOrientation = true
        #expect(policy.receivingOnly == receiving)
    }
}
