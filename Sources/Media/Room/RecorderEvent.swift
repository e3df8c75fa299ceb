// SPDX-License-Identifier: Apache-2.0

public import Basics
public import Observability
public import Storage
public import Timeline

/// An event of a recorder, on its own thread.
///
/// The receiver must not block nor call the recorder.
public enum RecorderEvent: Sendable, Hashable {
    /// A recording, or the next part of one, began; and its place, if it is of a series.
    case started(RecordingFolder, part: Int, SeriesPlace?)
    /// The recording that was to be continued is not: the next media begin another.
    case notContinued(reason: String)
    /// Every file is closed.
    case finished(RecordingFolder, part: Int, reason: String)
    /// Media are being lost on this side; said once for each recording.
    case degraded(RecordingFolder?, part: Int, reason: String, byDisk: Bool)
    /// The first unit of a track is in its file, so long after the offer; `parts` are the steps of that.
    case firstUnit(participant: String, kind: MediaKind, delay: Duration, parts: [SetupPart: Duration])
}
