// SPDX-License-Identifier: Apache-2.0

/// A text that must not be shown: printing, interpolating, dumping or reflecting it shows dots.
public struct Secret: Sendable, Hashable, CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// The text itself; hand it only to what needs it.
    public let value: String

    /// Hides a text.
    public init(_ value: String) {
        self.value = value
    }

    /// Dots, however long the text is.
    public var description: String { "•••" }
    /// Dots, however long the text is.
    public var debugDescription: String { "•••" }
    /// Without children.
    public var customMirror: Mirror { Mirror(self, children: [:]) }
}

/// Encoded, it is the text: only what goes to a process of ours, by a pipe, may have one.
extension Secret: Codable {
    /// Reads the text.
    public init(from decoder: any Decoder) throws {
        self.init(try decoder.singleValueContainer().decode(String.self))
    }

    /// Writes the text.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(self.value)
    }
}
