// SPDX-License-Identifier: Apache-2.0

internal import Foundation

/// Takes values from the environment of this process and from files.
public struct ProcessValueSource: ValueSource {
    /// Longest file of secrets, in bytes.
    public static let maximumFileBytes = 64 << 10

    /// A source that reads when it is asked.
    public init() {}

    /// The value of an environment variable.
    public func environmentVariable(_ name: String) -> String? {
        ProcessInfo.processInfo.environment[name]
    }

    /// The text of a regular file in UTF-8 of at most `maximumFileBytes`, without the line break at its end.
    public func contents(ofFile path: String) throws(ValueSourceError) -> String {
        var text: String
        do {
            text = try BoundedFile.text(path: path, maximumBytes: Self.maximumFileBytes)
        } catch {
            throw ValueSourceError(error.reason)
        }
        if text.last?.isNewline == true { text.removeLast() }
        return text
    }
}
