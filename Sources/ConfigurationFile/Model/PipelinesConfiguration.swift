// SPDX-License-Identifier: Apache-2.0

/// Where pipeline files are.
public struct PipelinesConfiguration: Sendable, Hashable {
    /// Absolute path of a folder whose files go beside or before those of the program; `nil` for none.
    public var directory: String?

    /// The program's own files.
    public init() {}
}
