// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import Signalling

@Suite struct WHIPDescriptionTests {
    @Test func offersOneBundleOnOnePort() {
        let text = WHIPDescription.conforming(WHIPWire.offer)
        #expect(
            text
                == "v=0\r\no=- 42 1 IN IP4 127.0.0.1\r\ns=-\r\nt=0 0\r\na=group:BUNDLE 0 1\r\na=ice-options:trickle\r\n"
                + "m=audio 9 UDP/TLS/RTP/SAVPF 111\r\nc=IN IP4 0.0.0.0\r\na=mid:0\r\na=ice-ufrag:ours\r\n"
                + "a=ice-pwd:secret\r\na=rtcp-mux\r\na=rtcp-mux-only\r\n"
                + "a=candidate:1 1 udp 1 192.0.2.9 6000 typ host\r\n"
                + "m=video 0 UDP/TLS/RTP/SAVPF 96\r\nc=IN IP4 0.0.0.0\r\na=bundle-only\r\na=mid:1\r\n"
                + "a=ice-ufrag:ours\r\na=ice-pwd:secret\r\na=rtcp-mux\r\na=rtcp-mux-only\r\n"
        )
        #expect(WHIPDescription.conforming(text) == text)
    }

    @Test func writesTheFragmentOfTheBundlesMLine() {
        let body = WHIPFragment(of: WHIPDescription.conforming(WHIPWire.offer)).text([WHIPWire.candidate(1)])
        #expect(
            body
                == "a=group:BUNDLE 0 1\r\na=ice-options:trickle\r\nm=audio 9 UDP/TLS/RTP/SAVPF 111\r\na=mid:0\r\n"
                + "a=ice-ufrag:ours\r\na=ice-pwd:secret\r\na=candidate:1 1 udp 1 192.0.2.9 6001 typ srflx\r\n"
        )
    }

    @Test func takesCredentialsFromTheSessionLevel() {
        let body = WHIPFragment(of: "v=0\na=ice-ufrag:u\na=ice-pwd:p\nm=video 9 X 1\na=mid:v\n").text([])
        #expect(body == "m=video 9 X 1\r\na=ice-ufrag:u\r\na=ice-pwd:p\r\na=mid:v\r\n")
        #expect(WHIPFragment(of: "").text([]).isEmpty)
    }
}
