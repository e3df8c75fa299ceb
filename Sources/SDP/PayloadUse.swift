// SPDX-License-Identifier: Apache-2.0

public import Basics

extension NegotiationState {
    /// The payload types that webrtcbin knows, or has known: packets of no others can be received.
    public var innerPayloadTypes: Set<UInt8> {
        Set(self.innerLines.flatMap(self.innerFormats).map(\.payloadType))
    }

    /// How a payload type is used, 0 to 127, as far as it is settled.
    public func use(ofPayloadType payloadType: UInt8) -> PayloadUse {
        let received = self.innerLines.filter { !self.policy.received($0.kind).isEmpty }.flatMap(self.innerFormats)
        if let format = received.first(where: { $0.payloadType == payloadType }) {
            return format.codec.map { .media($0) } ?? .repair
        }
        let isNamed =
            self.innerPayloadTypes.contains(payloadType)
            || self.sections.contains { $0.formats.contains("\(payloadType)") && $0.dataChannels == nil }
        return isNamed ? .refused : .unknown
    }

    /// Formats that webrtcbin gets for an m-line.
    ///
    /// In the answer to an offer of ours they include the formats that were not picked: a peer may send all that it was
    /// offered.
    func innerFormats(_ line: InnerLine) -> [OuterFormat] {
        (line.codec?.outerFormats(self.policy) ?? []) + line.offered
    }
}
