// SPDX-License-Identifier: Apache-2.0

/// How the tracks are arranged.
public enum TrackLayout: String, Sendable, Hashable, Codable, CaseIterable {
    /// Every track of every participant, side by side.
    case tracks
    /// One participant's picture and sound, each one track, for a player in a browser: WebM if the codecs allow.
    case browser
}
