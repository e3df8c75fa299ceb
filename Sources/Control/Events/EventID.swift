// SPDX-License-Identifier: Apache-2.0

/// The id of an event in a stream: `LIFE-SEQUENCE`.
///
/// Sequence numbers restart with each run of the daemon: they alone do not identify an event.
struct EventID: Sendable, Hashable, CustomStringConvertible {
    /// The run that sent the event, some letters; `nil` where only a number is known.
    var life: String?
    /// The event's number in that life.
    var sequence: UInt64

    /// An id with both parts given.
    init(life: String?, sequence: UInt64) {
        (self.life, self.sequence) = (life, sequence)
    }

    /// Reads an id, or a bare number; `nil` for what no stream ever said.
    init?(parsing text: String) {
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
    static func randomLife() -> String {
        String((0..<8).map { _ in Character(Unicode.Scalar(UInt8.random(in: 0x61...0x7a))) })
    }

    var description: String { (self.life.map { $0 + "-" } ?? "") + String(self.sequence) }
}
