// SPDX-License-Identifier: Apache-2.0

/// What a token allows.
public enum Scope: String, Sendable, Hashable, Codable, CaseIterable {
    /// To see rooms, recordings, events and figures.
    case read
    /// To change things.
    case control
    /// To get images and files of recordings.
    case media
}
