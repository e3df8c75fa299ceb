// SPDX-License-Identifier: Apache-2.0

internal import Basics
internal import SDP

/// Descriptions as a peer's first offer, as a later one, and as its answer.
///
/// A line `~` divides an input into descriptions, which come one after the other.
enum DescriptionTarget {
    private static let fingerprint = Fingerprint(algorithm: .sha256, digest: [UInt8](repeating: 0xAB, count: 32))

    private static func makeState(sends: Bool) -> NegotiationState {
        var policy = sends ? NegotiationPolicy(sentVideo: [.vp8], sentAudio: [.opus]) : NegotiationPolicy()
        policy.takesDataChannels = !sends
        return NegotiationState(policy: policy, ourFingerprints: [fingerprint].compactMap { $0 }, sessionID: 42)
    }

    @Sendable static func run(_ text: String) {
        let descriptions = text.split(separator: "\n~\n", maxSplits: 8, omittingEmptySubsequences: false).map(
            String.init
        )
        for sends in [false, true] {
            var state = self.makeState(sends: sends)
            for description in descriptions {
                self.checkRoundTrip(description)
                self.offer(description, to: &state, sends: sends)
                guard let read = try? SessionDescription(parsing: description) else { continue }
                for candidate in state.unresolvedCandidates(in: read) { _ = candidate.description }
            }
        }
        var offering = self.makeState(sends: false)
        guard (try? offering.offerCreated(inner: self.ourOffer)) != nil else { fatalError("no offer of ours") }
        for description in descriptions {
            guard let read = try? SessionDescription(parsing: description),
                let inner = try? offering.answerReceived(read)
            else { continue }
            self.checkInner(inner)
        }
    }

    private static func checkRoundTrip(_ text: String) {
        guard let description = try? SessionDescription(parsing: text) else { return }
        guard let again = try? SessionDescription(parsing: description.text) else {
            fatalError("a description cannot be read again")
        }
        require(again == description, "a description changes when it is read again")
        for media in description.media {
            require(Set(media.formats).count == media.formats.count, "a payload type twice on an m-line")
            _ = (media.rtpFormats, media.sources, media.candidates, media.headerExtensions)
        }
    }

    private static func offer(_ text: String, to state: inout NegotiationState, sends: Bool) {
        guard let offer = try? SessionDescription(parsing: text), let outcome = try? state.offerReceived(offer)
        else { return }
        let outer: SessionDescription
        switch outcome {
        case .apply(let inner):
            self.checkInner(inner)
            guard let answer = try? state.answerCreated(inner: self.answer(to: inner, sends: sends)) else {
                fatalError("webrtcbin's answer is not taken")
            }
            outer = answer.outer
        case .reply(let answer), .decline(let answer, _):
            outer = answer
        case .rebuild:
            state = self.makeState(sends: sends)
            return
        }
        guard let answer = try? SessionDescription(parsing: outer.text) else { fatalError("our answer cannot be read") }
        // RFC 3264 section 6: one m-line for each, of the same kind.
        require(answer.media.map(\.media) == offer.media.map(\.media), "our answer has other m-lines")
        for (asked, said) in zip(offer.media, answer.media) where said.port != 0 {
            require(asked.port != 0 || asked.isBundleOnly, "a stopped m-line is taken")
            require(Set(said.formats).isSubset(of: Set(asked.formats)), "our answer has formats of its own")
        }
    }

    /// Descriptions for webrtcbin are well-formed for any input.
    private static func checkInner(_ text: String) {
        guard let description = try? SessionDescription(parsing: text) else {
            fatalError("webrtcbin's text is garbage")
        }
        require(description.bundleGroups == [description.media.compactMap(\.mid)], "not all m-lines are bundled")
        for media in description.media {
            require(media.kind != nil && media.rtpFormats.first?.codec != nil, "an m-line without a codec")
            require(description.iceCredentials(of: media) != nil, "an m-line without ICE")
            require(!description.fingerprints(of: media).isEmpty, "an m-line without a fingerprint")
        }
    }

    private static let transport =
        "c=IN IP4 0.0.0.0\r\na=ice-ufrag:wEbRtCbInUfrag00\r\na=ice-pwd:wEbRtCbInPassword0000000000\r\na=rtcp-mux\r\n"

    private static let ourOffer =
        "v=0\r\no=- 77 0 IN IP4 0.0.0.0\r\ns=-\r\nt=0 0\r\na=group:BUNDLE audio0 video1\r\n"
        + "m=audio 9 UDP/TLS/RTP/SAVPF 111\r\n\(transport)a=setup:actpass\r\na=mid:audio0\r\na=recvonly\r\n"
        + "a=rtpmap:111 OPUS/48000/2\r\n"
        + "m=video 9 UDP/TLS/RTP/SAVPF 96\r\n\(transport)a=setup:actpass\r\na=mid:video1\r\na=recvonly\r\n"
        + "a=rtpmap:96 VP8/90000\r\n"

    /// The answer of webrtcbin: the first codec of each m-line.
    private static func answer(to inner: String, sends: Bool) -> String {
        guard let offer = try? SessionDescription(parsing: inner) else { return "" }
        var text = "v=0\r\no=- 1 1 IN IP4 0.0.0.0\r\ns=-\r\n"
        for media in offer.media {
            guard let format = media.rtpFormats.first, let mid = media.mid else { return "" }
            let setup = offer.setup(of: media) == .active ? "passive" : "active"
            text += "m=\(media.media) 9 UDP/TLS/RTP/SAVPF \(format.payloadType)\r\n\(self.transport)"
            text += "a=mid:\(mid)\r\na=setup:\(setup)\r\na=\(sends ? "sendrecv" : "recvonly")\r\n"
            text += "a=rtpmap:\(format.payloadType) \(format.encodingName)/\(format.clockRate)\r\n"
        }
        return text
    }
}
