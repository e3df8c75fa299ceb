// SPDX-License-Identifier: Apache-2.0

public import Basics
public import Model
public import Storage

/// An export, waiting, running or over.
public struct ExportEntry: Sendable, Hashable {
    /// Its id.
    public var id: String
    /// The recording's id.
    public var recording: RecordingID
    /// The spec of the export.
    public var spec: ExportSpec
    /// Whether it counts as an export of the whole recording: not if it was requested while the recording was in
    /// progress, or the manifest marks it as a part.
    public var isOfWhole: Bool
    /// Where its life is.
    public var state = ExportState.queued
    /// 0 to 1.
    public var progress = 0.0
    /// The file, relative to the recording's folder when it is inside.
    public var file: String?
    /// Why it failed, or what it waits for.
    public var error: String?
    /// How often it began and failed.
    public var attempts = 0
    /// One that waits does not begin before; nil: as soon as it is its turn.
    public var due: UTCTime?
    /// When it was asked for.
    public var created: UTCTime
    /// When it began.
    public var started: UTCTime?
    /// When it ended.
    public var finished: UTCTime?

    /// Whether it is done, of the whole recording and in its folder: an export made elsewhere replaces none that a room
    /// orders.
    public var isInPlace: Bool {
        self.state == .done && self.spec.layout != .browser && self.isOfWhole && self.file?.contains("/") != true
    }

    /// An export that waits, with a new id unless one is given.
    public init(
        id: String = RecordingID.random().rawValue,
        recording: RecordingID,
        spec: ExportSpec = ExportSpec(),
        created: UTCTime
    ) {
        self.id = id
        self.recording = recording
        self.spec = spec
        self.isOfWhole = spec.isOfWhole
        self.created = created
    }
}
