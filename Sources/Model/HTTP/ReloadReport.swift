// SPDX-License-Identifier: Apache-2.0

/// The effect of a reload of the configuration: the answer of `POST /v1/reload`.
public struct ReloadReport: Sendable, Hashable, Codable {
    /// Rooms that were added.
    public var added: Int
    /// Rooms that are now something else.
    public var changed: Int
    /// Rooms that were removed.
    public var removed: Int
    /// Rooms that were not touched.
    public var unchanged: Int
    /// Sections and keys that differ from the running ones and take effect at the next start, such as `workers`.
    public var afterRestart: [String]

    /// A report with each part given.
    public init(added: Int, changed: Int, removed: Int, unchanged: Int, afterRestart: [String] = []) {
        (self.added, self.changed, self.removed, self.unchanged) = (added, changed, removed, unchanged)
        self.afterRestart = afterRestart
    }
}
