// SPDX-License-Identifier: Apache-2.0

/// The name of a room, as its members spell it.
///
/// It is untrusted text that never reaches a path, a header or the page's markup.
struct RoomName: Hashable, Sendable, CustomStringConvertible {
    /// More than any known client uses, little enough to hold one in every message.
    static let maximumLength = 128

    /// The name.
    let rawValue: String

    /// Checks a name: 1 to 128 characters, at most 512 bytes of UTF-8, no control characters; nil otherwise.
    ///
    /// Names reach the log, where a line break would forge a line.
    init?(_ rawValue: String) {
        guard !rawValue.isEmpty, rawValue.utf8.count <= Self.maximumLength &* 4, rawValue.count <= Self.maximumLength,
            !rawValue.unicodeScalars.contains(where: Self.breaksLines)
        else { return nil }
        self.rawValue = rawValue
    }

    var description: String { self.rawValue }

    /// Clients compare code units: to them two spellings of a letter are two names, as they are not to `String`.
    static func == (left: RoomName, right: RoomName) -> Bool { left.rawValue.utf8.elementsEqual(right.rawValue.utf8) }

    func hash(into hasher: inout Hasher) {
        for byte in self.rawValue.utf8 { hasher.combine(byte) }
        hasher.combine(UInt8.max)
    }

    private static func breaksLines(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.properties.generalCategory {
        case .control, .lineSeparator, .paragraphSeparator: true
        default: false
        }
    }
}
