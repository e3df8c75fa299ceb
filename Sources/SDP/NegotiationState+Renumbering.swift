// SPDX-License-Identifier: Apache-2.0

internal import Basics

extension NegotiationState {
    /// Plans an offer; where its payload types contradict those in use, with the ones in use.
    ///
    /// The meaning of a payload type does not change during a session (RFC 3264 section 8.3.2), but aiortc renumbers
    /// its own offer after it has answered one of ours. A new connection would not help: its transport stays what it
    /// is. The answer then names the payload types in use, and the offerer sends with what the answer names (section
    /// 6.1).
    /// - Returns: the state with its sections planned, and the offer as it was understood.
    func planned(_ given: SessionDescription) throws(SDPError) -> (state: NegotiationState, offer: SessionDescription) {
        let offer = given.withExtensionsOfAll
        var next = self
        next.sections = try next.planSections(offer)
        next.refreshDirections()
        guard !next.payloadTypesAgree else { return (next, offer) }
        var renumbered = offer
        let codecs = self.innerLines.compactMap(\.codec)
        for index in renumbered.media.indices { renumbered.media[index].renumber(to: codecs) }
        var again = self
        again.sections = try again.planSections(renumbered)
        again.refreshDirections()
        return again.payloadTypesAgree ? (again, renumbered) : (next, offer)
    }
}

extension MediaDescription {
    /// Gives formats the payload types that the same codecs have elsewhere, and leaves out the others; nothing happens
    /// if there is none of these codecs.
    fileprivate mutating func renumber(to codecs: [NegotiatedCodec]) {
        let offered = self.rtpFormats
        var numbers: [String: UInt8] = [:]
        for codec in codecs where codec.codec.kind == self.kind && !numbers.values.contains(codec.payloadType) {
            guard let format = offered.first(where: { $0.isVariant(of: codec) }) else { continue }
            numbers["\(format.payloadType)"] = codec.payloadType
            let repair = offered.first { $0.isRTX && $0.associatedPayloadType == format.payloadType }
            if let repair, let number = codec.rtxPayloadType { numbers["\(repair.payloadType)"] = number }
        }
        guard !numbers.isEmpty else { return }
        self.formats = self.formats.compactMap { numbers[$0].map(String.init) }
        self.lines = self.lines.compactMap { line in
            guard let (name, value) = line.attribute, let value, ["rtpmap", "fmtp", "rtcp-fb"].contains(name) else {
                return line
            }
            let words = value.split(separator: " ", maxSplits: 1)
            guard words.count == 2, words[0] != "*" else { return line }
            guard let number = numbers[String(words[0])] else { return nil }
            var rest = words[1].trimmed
            if name == "fmtp", rest.hasPrefix("apt="), let repaired = numbers[String(rest.dropFirst(4))] {
                rest = "apt=\(repaired)"
            }
            return .attribute(String(name), "\(number) \(rest)")
        }
    }
}

extension RTPFormat {
    /// Whether it is the codec as it was negotiated, whatever its payload type.
    fileprivate func isVariant(of negotiated: NegotiatedCodec) -> Bool {
        let other = RTPFormat(
            payloadType: negotiated.payloadType,
            map: "\(negotiated.codec.encodingName)/\(negotiated.codec.clockRateHz)",
            parameters: negotiated.parameters,
            feedback: []
        )
        return self.codec == negotiated.codec && self.channels == negotiated.channels
            && self.packetizationMode == other.packetizationMode && self.h264Profile == other.h264Profile
    }
}
