// SPDX-License-Identifier: Apache-2.0

public import Basics
import FoundationEssentials
public import Timeline

/// Contents of a recording, as `manifest.json`; the journal is the source, this is the summary.
public struct Manifest: Sendable, Hashable, Codable {
    /// The version that this code writes.
    public static let currentVersion = 1

    /// The verdict on the recording.
    public typealias Verdict = Certificate.Verdict

    /// A part of the recording: what one process recorded.
    public struct Part: Sendable, Hashable, Codable {
        /// Its number, from 1.
        public var number: Int
        /// The host that recorded it.
        public var host: String
        /// When it began.
        public var start: UTCTime

        /// A part with each part given.
        public init(number: Int, host: String, start: UTCTime) {
            self.number = number
            self.host = host
            self.start = start
        }
    }

    /// An exported file.
    public struct Export: Sendable, Hashable, Codable {
        /// The file; relative to the recording's folder when it is inside.
        public var file: String
        /// The layout's name.
        public var layout: String
        /// Its duration in nanoseconds.
        public var durationNanoseconds: Int64
        /// Its size in bytes.
        public var bytes: UInt64
        /// Whether it holds only a part of the recording: one participant, a range, or the media that were there while
        /// the recording was in progress.
        ///
        /// `nil` in manifests of older versions, and of the whole.
        public var isPart: Bool?
        /// Whether it is of the whole recording.
        public var isOfWhole: Bool { self.isPart != true }
        /// The ids of the recordings of a series that it was made of; `nil` for an export of one recording.
        public var recordings: [String]?
        /// How the clocks of a series' hosts were joined; `nil` where one host recorded.
        public var joined: [ClockJoin]?
        /// Stretches of a series of several owners in which none of them recorded anything; `nil` without one.
        public var gaps: [Certificate.Span]?

        /// An export with each part given.
        public init(
            file: String,
            layout: String,
            durationNanoseconds: Int64,
            bytes: UInt64,
            isPart: Bool = false,
            recordings: [String]? = nil,
            joined: [ClockJoin]? = nil,
            gaps: [Certificate.Span]? = nil
        ) {
            self.file = file
            self.layout = layout
            self.durationNanoseconds = durationNanoseconds
            self.bytes = bytes
            self.isPart = isPart ? true : nil
            self.recordings = recordings
            self.joined = joined
            self.gaps = gaps
        }

        private enum CodingKeys: String, CodingKey {
            case file, layout, bytes, recordings, joined, gaps
            case isPart = "part"
            case durationNanoseconds = "duration_ns"
        }
    }

    /// The version of this form.
    public var version = Self.currentVersion
    /// The room, unsanitised.
    public var room: String
    /// The recording's id.
    public var id: RecordingID
    /// When it began, if the journal has it.
    public var start: UTCTime?
    /// The host that recorded, if the journal has it.
    public var host: String?
    /// The name under which others saw the recorder in the room, if it had one.
    public var displayName: String?
    /// The id of the first of the recordings that follow each other without a gap, if it is one of them.
    public var series: String?
    /// Which of the series it is, from 1.
    public var segment: Int?
    /// The claim of the host that recorded it; `nil` for a room that no cluster shares.
    public var claim: RecordingClaim?
    /// Words to find it by.
    public var tags: [String]?
    /// Notes about the recording.
    public var notes: String?
    /// The parts, oldest first; `nil` in manifests of versions that knew none.
    public var parts: [Part]?
    /// All participants, in order of appearance.
    public var participants: [Participant] = []
    /// All tracks by number.
    public var tracks: [RecordedTrack] = []
    /// Turns of speech, from the last export of the whole recording whose audio was analysed; `nil` before there was
    /// one.
    public var speakers: [SpeakingTurn]?
    /// Exports made so far.
    public var exports: [Export] = []
    /// Whether one of them holds the whole recording and is in its folder.
    ///
    /// One that was made elsewhere does not replace what the room orders.
    public var hasWholeExport: Bool { self.exports.contains { $0.isOfWhole && !$0.file.contains("/") } }
    /// The verdict on the recording.
    public var verdict: Verdict
    /// The files as they were when the recording was closed, or made; `nil` in manifests of versions that hashed none.
    public var files: [Certificate.FileDigest]?
    /// How the verdict came about, without the hashes, which are in `files`; `nil` in manifests of older versions.
    public var certificate: Certificate?

    /// A manifest without participants, tracks and exports.
    public init(room: String, id: RecordingID, start: UTCTime? = nil, host: String? = nil, verdict: Verdict) {
        self.room = room
        self.id = id
        self.start = start
        self.host = host
        self.verdict = verdict
    }

    private static let maximumSize = 64 << 20

    /// Reads a recording's manifest; `nil` when there is none.
    public static func read(_ folder: RecordingFolder) throws(StorageError) -> Manifest? {
        do {
            let file = try File(folder.manifestPath, .read)
            let bytes = try file.read(offset: 0, count: Self.maximumSize)
            let manifest = try JSONDecoder().decode(Manifest.self, from: Data(bytes))
            guard manifest.version <= Self.currentVersion else {
                throw StorageError(
                    .invalid,
                    "\(folder.manifestPath) is of version \(manifest.version), newer than this program",
                    path: folder.manifestPath
                )
            }
            return manifest
        } catch let error as StorageError {
            guard error.code == .notFound else { throw error }
            return nil
        } catch {
            throw StorageError(.invalid, "\(folder.manifestPath) is damaged: \(error)", path: folder.manifestPath)
        }
    }

    /// Writes the recording's manifest over an older one, atomically: readers see the old or the new one.
    public func write(_ folder: RecordingFolder) throws(StorageError) {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
        guard let data = try? encoder.encode(self) else {
            throw StorageError(.invalid, "the manifest cannot be written as JSON", path: folder.manifestPath)
        }
        try File.replace(folder.manifestPath, with: Array(data) + [UInt8(ascii: "\n")])
    }
}
