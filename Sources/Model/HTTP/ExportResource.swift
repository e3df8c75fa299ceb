// SPDX-License-Identifier: Apache-2.0

/// What an export should hold.
public struct ExportRequest: Sendable, Hashable, Codable {
    /// `tracks`; `browser`, a WebM or MP4 rendition that browsers play; `grid`; or `audio`.
    public var layout: String
    /// What the layouts take, by the names of the command line: `size`, `fps`, `codec`, `format` and `loudness` those that
    /// decode and encode, `container`, `keep-damaged`, `separate-tracks` and `project` the layout `tracks`.
    public var options: [String: String] = [:]
    /// Only this participant's tracks.
    public var participant: String?
    /// Seconds from the recording's start at which the export begins.
    public var from: Double?
    /// Seconds from the recording's start at which the export ends.
    public var to: Double?

    /// Whether all recordings of the series are exported of which the recording is a segment.
    public var series = false

    /// Every track, all of the time.
    public init(layout: String = "tracks") {
        self.layout = layout
    }
}

/// An export, waiting, running or done.
public struct ExportResource: Sendable, Hashable, Codable {
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
    public var recording: String
    /// The layout's name.
    public var layout: String
    /// Where its life is.
    public var state: State
    /// 0 to 1.
    public var progress: Double
    /// The file's name relative to the recording's folder, when it is done.
    public var file: String?
    /// Why it failed, or what it waits for.
    public var error: String?
    /// How often it began and failed.
    public var attempts: Int
    /// When it is tried again, in UTC; nil unless it waits for that.
    public var nextAttempt: String?

    /// An export with each part given.
    public init(
        id: String,
        recording: String,
        layout: String,
        state: State,
        progress: Double,
        file: String? = nil,
        error: String? = nil,
        attempts: Int = 0,
        nextAttempt: String? = nil
    ) {
        self.id = id
        self.recording = recording
        self.layout = layout
        self.state = state
        self.progress = progress
        self.file = file
        self.error = error
        self.attempts = attempts
        self.nextAttempt = nextAttempt
    }
}
