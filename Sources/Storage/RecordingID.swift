// SPDX-License-Identifier: Apache-2.0

/// A recording's name, unique across machines: 80 random bits as 16 letters and digits.
public struct RecordingID: Sendable, Hashable, CustomStringConvertible {
    /// Sixteen characters of Crockford's base 32, lower case.
    public let rawValue: String

    private static let alphabet = Array("0123456789abcdefghjkmnpqrstvwxyz")
    private static let length = 16

    /// Takes an id that `random()` made; `nil` for any other text.
    public init?(rawValue: String) {
        guard rawValue.utf8.count == Self.length, rawValue.allSatisfy(Self.alphabet.contains) else { return nil }
        self.rawValue = rawValue
    }

    private init(characters: [Character]) {
        self.rawValue = String(characters)
    }

    /// A new id.
    public static func random() -> RecordingID {
        var generator = SystemRandomNumberGenerator()
        return RecordingID(
            characters: (0..<Self.length).map { _ in
                Self.alphabet[Int.random(in: 0..<Self.alphabet.count, using: &generator)]
            }
        )
    }

    /// The id's text.
    public var description: String { self.rawValue }
}

extension RecordingID: Codable {
    /// Decodes a bare string.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        guard let id = RecordingID(rawValue: try container.decode(String.self)) else {
            throw DecodingError.dataCorruptedError(in: container, debugDescription: "not a recording id")
        }
        self = id
    }

    /// Encodes a bare string.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(self.rawValue)
    }
}
