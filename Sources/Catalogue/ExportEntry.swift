// SPDX-License-Identifier: Apache-2.0

public import Basics
public import Storage

/// An export, waiting, running or over.
public struct ExportEntry: Sendable, Hashable {
    /// Where an export's life is.
    public enum State: String, Sendable, Hashable, Codable, CaseIterable {
        /// It waits for its turn.
        case queued
        /// It runs.
        case running
        /// The file is there.
        case done
        /// It failed.
        case failed
    }

    /// Its id.
    public var id: String
    /// The recording's id.
    public var recording: RecordingID
    /// The layout's name.
    public var layout: String
    /// Only this participant's tracks.
    public var participant: String?
    /// Seconds from the recording's start at which the export begins.
    public var from: Double?
    /// Seconds from the recording's start at which the export ends.
    public var to: Double?
    /// What the layout takes beyond that, by the name of the option.
    public var options: [String: String] = [:]
    /// Whether it may lack a part of the recording for another reason: it was asked for while the recording went on, or the
    /// manifest says so.
    public var lacksPart = false
    /// Where its life is.
    public var state: State
    /// 0 to 1.
    public var progress: Double
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
    /// When it began to run.
    public var started: UTCTime?
    /// When it was done or failed.
    public var finished: UTCTime?

    /// Whether it stands for the whole recording.
    public var isOfWhole: Bool { !self.lacksPart && self.participant == nil && self.from == nil && self.to == nil }
    /// Whether it is done, of the whole recording and in its folder: one that somebody made elsewhere takes the place of none that
    /// a room orders.
    public var isInPlace: Bool {
        self.state == .done && self.layout != "browser" && self.isOfWhole && self.file?.contains("/") != true
    }
    /// Whether it is of every segment of the recording's series.
    public var isOfSeries: Bool { self.options["series"] == "true" }
    /// Whether GStreamer makes its file from another one as large, which is removed then.
    public var isMadeTwice: Bool { self.layout == "browser" || self.options["container"] == "mp4" }

    /// An export that waits, with a new id unless one is given.
    public init(
        id: String = RecordingID.random().rawValue,
        recording: RecordingID,
        layout: String,
        participant: String? = nil,
        from: Double? = nil,
        to: Double? = nil,
        created: UTCTime
    ) {
        self.id = id
        self.recording = recording
        self.layout = layout
        self.participant = participant
        self.from = from
        self.to = to
        self.state = .queued
        self.progress = 0
        self.created = created
    }
}
