// SPDX-License-Identifier: Apache-2.0

/// What somebody last ordered for a room's recording, by hand; it outlasts the worker that was told.
public enum RecordingOrder: String, Sendable, Hashable, Codable, CaseIterable {
    /// Record from now on, whatever the room's definition says.
    case record
    /// Leave out what comes for as long as this recording goes on.
    case pause
    /// Record nothing until `record`.
    case stop
    /// Record nothing until `record`: what was paused had to end, and nobody has ended the pause.
    case hold
}
