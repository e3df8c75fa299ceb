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
