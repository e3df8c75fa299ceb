// SPDX-License-Identifier: Apache-2.0

/// An export, waiting, running or done.
public struct ExportResource: Sendable, Hashable, Codable {
    /// Its id.
    public var id: String
    /// The recording's id.
    public var recording: String
    /// The layout's name.
    public var layout: String
    /// Where its life is.
    public var state: ExportState
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
        state: ExportState,
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
