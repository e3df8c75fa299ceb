// SPDX-License-Identifier: Apache-2.0

/// One thing that is wrong in a pipeline file.
public struct PipelineFinding: Error, Sendable, Hashable, CustomStringConvertible {
    /// The file, as `capture/file`.
    public var file: String
    /// The key, as `parameters.path.element`; empty for the whole file.
    public var key: String
    /// The fault; no full stop.
    public var message: String

    /// A finding with each part given.
    public init(file: String, key: String, message: String) {
        self.file = file
        self.key = key
        self.message = message
    }

    /// The finding in one line.
    public var description: String {
        [self.file, self.key, self.message].filter { !$0.isEmpty }.joined(separator: ": ")
    }
}
