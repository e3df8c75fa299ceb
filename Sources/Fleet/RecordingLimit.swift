// SPDX-License-Identifier: Apache-2.0

public import Model

/// How much of rooms may be recorded at present, by the space on the disk.
public enum RecordingLimit: Sendable, Hashable, CaseIterable {
    /// No limit.
    case everything
    /// Audio, without video.
    case audioOnly
    /// No recording.
    case nothing

    /// The part of a spec that may be recorded; `nil` for nothing.
    public func limited(_ record: RecordSpec?) -> RecordSpec? {
        guard var record else { return nil }
        switch self {
        case .everything: return record
        case .nothing: return nil
        case .audioOnly:
            record.video = false
            return record.audio ? record : nil
        }
    }
}
