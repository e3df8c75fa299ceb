// SPDX-License-Identifier: Apache-2.0

/// Why nothing can be captured from what was named; the person who named it can mend it.
public struct CaptureError: Error, Sendable, Hashable, CustomStringConvertible {
    /// One sentence that names the file or device, and for a device what there is instead.
    public var message: String

    /// An error of that sentence.
    public init(_ message: String) {
        self.message = message
    }

    /// The message.
    public var description: String { self.message }
}
