// SPDX-License-Identifier: Apache-2.0

public import Basics
public import Timeline

/// Summary of a recording's folder without opening a track file: from the manifest, the journal and the file sizes.
public struct RecordingSummary: Sendable, Hashable {
    /// The folder.
    public var folder: RecordingFolder
    /// The room, unsanitised if the journal or the manifest has it.
    public var room: String
    /// When it began; to the second, from the folder's name, if the journal does not say so.
    public var start: UTCTime
    /// The last instant in the journal; `nil` without a journal.
    public var end: UTCTime?
    /// The host that recorded last, if known.
    public var host: String?
    /// How often recording began, at least 1.
    public var parts = 1
    /// Whether the recording ended normally, or was closed by an export after a crash.
    public var isFinished = false
    /// Whether everything is there; `nil` before the first export.
    public var verdict: Manifest.Verdict?
    /// All participants, in order of appearance.
    public var participants: [Participant] = []
    /// How people see the participants.
    public var shownNames: ShownNames { ParticipantRoster(self.participants).shown }
    /// Words to find it by.
    public var tags: [String] = []
    /// Notes about the recording.
    public var notes: String?
    /// All tracks by number; counters are zero for a file that was never closed nor exported.
    public var tracks: [RecordedTrack] = []
    /// Exports made so far.
    public var exports: [Manifest.Export] = []
    /// Bytes of all files.
    public var bytes: Int64 = 0

    /// Seconds of media time: of the longest export of all of one that is over, else from the first to the last instant of the
    /// journal.
    public var durationSeconds: Double? {
        // Exports of a recording in progress hold only its beginning.
        let whole = self.isFinished ? self.exports.filter(\.isOfWhole) : []
        let exported = whole.map(\.durationNanoseconds).max() ?? 0
        if exported > 0 { return Double(exported) / 1e9 }
        guard let end = self.end, end >= self.start else { return nil }
        return Double(end.nanosecondsSince1970 &- self.start.nanosecondsSince1970) / 1e9
    }

    /// Reads a recording's folder.
    ///
    /// Throws what the system says about the folder, the journal or the manifest; a damaged manifest is `invalid`.
    public static func read(_ folder: RecordingFolder) throws(StorageError) -> RecordingSummary {
        var progress = JournalProgress()
        return try Self.read(folder, &progress)
    }

    /// The same, of the journal only what came since the last time.
    static func read(
        _ folder: RecordingFolder,
        _ progress: inout JournalProgress
    ) throws(StorageError) -> RecordingSummary {
        guard let named = folder.start else {
            throw StorageError(.invalid, "\(folder.path) does not begin with a time", path: folder.path)
        }
        let room = folder.path.split(separator: "/").dropLast().last.map(String.init) ?? ""
        var summary = RecordingSummary(folder: folder, room: room, start: named)
        let files = try folder.files()
        summary.bytes = files.reduce(0) { $0 &+ $1.bytes }
        // Only regular files are opened: a pipe under such a name would never answer.
        if files.contains(where: { $0.name == "journal.jsonl" }) {
            summary.take(try progress.advance(in: folder))
        }
        if files.contains(where: { $0.name == "manifest.json" }), let manifest = try Manifest.read(folder) {
            summary.take(manifest)
        }
        return summary
    }

    private mutating func take(_ history: RecordingHistory) {
        self.room = history.started?.room ?? self.room
        self.start = history.started?.utc ?? self.start
        self.end = history.end
        self.host = history.host
        self.parts = history.part
        self.isFinished = history.isFinished
        self.participants = history.roster.participants
        self.tags = history.tags
        self.notes = history.notes
        self.tracks = history.recordedTracks
    }

    private mutating func take(_ manifest: Manifest) {
        self.verdict = manifest.verdict
        self.exports = manifest.exports
        // It was exported while in progress: the journal has more.
        guard self.isFinished || !self.folder.isHeld else { return }
        self.room = manifest.room
        self.host = self.host ?? manifest.host
        self.isFinished = true
        if !manifest.participants.isEmpty { self.participants = manifest.participants }
        self.tags = manifest.tags ?? self.tags
        self.notes = manifest.notes ?? self.notes
        if !manifest.tracks.isEmpty { self.tracks = manifest.tracks }
    }
}

/// How far a journal was read, and the history until there.
struct JournalProgress: Sendable {
    /// Bytes of whole lines.
    private var bytes: UInt64 = 0
    private var history = RecordingHistory()

    /// Whether the recording is over, as far as was read.
    var isFinished: Bool { self.history.isFinished }

    /// Reads what came since.
    fileprivate mutating func advance(in folder: RecordingFolder) throws(StorageError) -> RecordingHistory {
        var history = self.history
        let read = try Journal.events(of: folder, from: self.bytes) { history.take($0) }
        guard read.bytes >= self.bytes else {
            self = JournalProgress()
            return try self.advance(in: folder)
        }
        (self.bytes, self.history) = (read.bytes, history)
        if let last = read.last {
            history.take(last)
            // The other content of that record appears again in later ones; its time, which is the end of the journal,
            // does not.
            self.history.noteTime(of: last)
        }
        return history
    }
}
