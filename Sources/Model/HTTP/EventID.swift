// SPDX-License-Identifier: Apache-2.0

/// The id of an event: `LIFE-SEQUENCE`.
///
/// Sequence numbers restart with each run of the daemon: they alone do not identify an event.
public struct EventID: Sendable, Hashable, CustomStringConvertible {
    /// The run that sent the event, some letters; `nil` where only a number is known.
    public var life: String?
    /// The event's number in that life.
    public var sequence: UInt64

    /// An id with both parts given.
    public init(life: String?, sequence: UInt64) {
        (self.life, self.sequence) = (life, sequence)
    }

    /// Reads an id, or a bare number; `nil` for what no stream ever said.
    public init?(parsing text: String) {
        let parts = text.split(separator: "-", omittingEmptySubsequences: false)
        guard let digits = parts.last, digits.utf8.allSatisfy({ (0x30...0x39).contains($0) }),
            let sequence = UInt64(digits)
        else { return nil }
        switch parts.count {
        case 1:
            self.init(life: nil, sequence: sequence)
        case 2:
            let life = parts[0]
            guard (1...16).contains(life.utf8.count), life.utf8.allSatisfy({ (0x61...0x7a).contains($0) }) else {
                return nil
            }
            self.init(life: String(life), sequence: sequence)
        default:
            return nil
        }
    }

    /// A unique name for a run of the daemon.
    public static func randomLife() -> String {
        String((0..<8).map { _ in Character(Unicode.Scalar(UInt8.random(in: 0x61...0x7a))) })
    }

    /// The id as a text.
    public var description: String { (self.life.map { $0 + "-" } ?? "") + String(self.sequence) }
}

/// In JSON it is its text.
extension EventID: Codable {
    /// Reads a text that `description` wrote.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        guard let id = EventID(parsing: try container.decode(String.self)) else {
            throw DecodingError.dataCorruptedError(in: container, debugDescription: "not the id of an event")
        }
        self = id
    }

    /// Writes the text.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(self.description)
    }
}
