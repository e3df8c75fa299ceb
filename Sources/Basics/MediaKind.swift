// SPDX-License-Identifier: Apache-2.0

/// The kind of a track's media: in a media section of a description, a file, a pipeline's port.
public enum MediaKind: String, Sendable, Hashable, Codable, CaseIterable {
    /// `m=video`.
    case video
    /// `m=audio`.
    case audio
}
