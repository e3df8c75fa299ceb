// SPDX-License-Identifier: Apache-2.0

public import Basics
internal import Matroska
public import Model
public import Storage
import Timeline

/// The input of a rendering: the participants of a recording and their units, in time from the beginning of the range.
///
/// It reads a recording as exports do: times are those of the session clock, and a file that cannot be used is a warning.
public struct RenderInput {
    /// A participant of the call.
    public struct Participant: Sendable, Hashable {
        /// The room server's name for the peer.
        public var id: String
        /// Display name of the participant; anything that a peer can send.
        public var name: String
        /// When the participant was there, in nanoseconds from the beginning of the range.
        public var presence: [Range<Int64>]
    }

    /// The longest range: a hundred days, as much as a file may span.
    ///
    /// Only a damaged file asks for more.
    public static let longestNanoseconds: Int64 = 8_640_000_000_000_000

    /// The room's name.
    public let room: String
    /// In order of appearance.
    public let participants: [Participant]
    /// By participant; each at its first unit.
    public let tracks: [RenderTrack]
    /// The length of the range.
    public let durationNanoseconds: Int64
    /// The length of all tracks together, as far as they are in the range.
    public var mediaNanoseconds: Int64 {
        self.tracks.reduce(0) { sum, track in
            sum &+ max(0, min(track.endNanoseconds, self.durationNanoseconds) &- max(0, track.firstNanoseconds))
        }
    }
    /// UTC of the range's beginning, if the recording has it.
    public let start: UTCTime?
    /// Bytes of all track files.
    public let bytes: UInt64

    private let folder: RecordingFolder
    private let contents: RecordingContents
    /// Whether something of the recording is left out, or may still come.
    let isPart: Bool

    /// Opens what is exported of a recording.
    public init(folder: RecordingFolder, _ spec: ExportSpec = ExportSpec()) throws(ExportError) {
        RecordingRepair.completeFiles(of: folder)
        var contents = try RecordingContents(folder, keepsDamaged: false)
        guard !contents.sources.isEmpty else {
            let reasons = contents.warnings.isEmpty ? "" : ": " + contents.warnings.joined(separator: "; ")
            throw ExportError(.nothingRecorded, "nothing was recorded in \(folder.path)\(reasons)")
        }
        let chosen = try spec.participant.map { text throws(ExportError) in try contents.participantID(named: text)
        }
        let zero = contents.startNanoseconds
        let start = zero &+ (spec.from?.fileNanoseconds ?? 0)
        let limit = spec.to.map { zero &+ $0.fileNanoseconds } ?? start &+ Self.longestNanoseconds
        var tracks: [RenderTrack] = []
        var presence = Presence(contents.history, end: limit)
        for source in contents.sources {
            let count = UnitCount(source)
            let track = RenderTrack(
                source,
                end: source.sessionTime(count.lastNanoseconds),
                zero: start,
                contents: contents
            )
            presence.add(source.participant, from: track.firstNanoseconds &+ start, to: track.endNanoseconds &+ start)
            guard chosen == nil || chosen == source.participant else { continue }
            tracks.append(track)
        }
        let last = tracks.map(\.endNanoseconds).max() ?? 0
        self.durationNanoseconds = min(max(0, limit &- start), last)
        let range = 0..<max(0, self.durationNanoseconds)
        tracks.removeAll { $0.endNanoseconds <= 0 || $0.firstNanoseconds >= range.upperBound }
        guard !tracks.isEmpty, !range.isEmpty else {
            throw ExportError(.emptySelection, "nothing of \(folder.path) is in the selection")
        }
        self.room = contents.room
        self.tracks = tracks
        self.folder = folder
        self.bytes = tracks.reduce(0) { $0 &+ $1.bytes }
        self.start = contents.started.map {
            UTCTime(nanosecondsSince1970: $0.utc.nanosecondsSince1970 &+ (start &- $0.monotonicNanoseconds))
        }
        self.participants = contents.participants.compactMap { known in
            guard chosen == nil || known.id == chosen else { return nil }
            let ranges = presence.ranges(known.id).compactMap { stay -> Range<Int64>? in
                let (from, to) = (max(stay.lowerBound, start), min(stay.upperBound, start &+ range.upperBound))
                return from < to ? from &- start..<to &- start : nil
            }
            return ranges.isEmpty ? nil : Participant(id: known.id, name: contents.shown[known.id], presence: ranges)
        }
        contents.rest()
        self.isPart = contents.isPart(spec)
        self.contents = contents
    }

    /// Notes what was made of the recording in its manifest; returns the report with what the recording is worth.
    public func note(_ report: ExportReport) throws(ExportError) -> ExportReport {
        try Exporter.note(report, of: .recording(self.folder), contents: self.contents)
    }
}

/// One track file of what is rendered, read unit by unit.
public struct RenderTrack {
    /// A coded unit.
    public struct Unit: Sendable, Hashable {
        /// From the beginning of the range; negative for what a decoder needs before it.
        public var nanoseconds: Int64
        /// Whether a decoder can start here.
        public var isKeyframe: Bool
        /// How its frame is turned.
        public var rotation: VideoRotation
        /// The bytes.
        public var payload: [UInt8]
    }

    /// Duration of a frame or a packet, where nothing else is known.
    private static let lastUnit: Int64 = 20_000_000

    private var source: TrackSource
    private let zero: Int64
    /// The first unit, from the beginning of the range.
    public let firstNanoseconds: Int64
    /// About the end of the last unit.
    public let endNanoseconds: Int64
    /// The last sign of life: the end of the last unit, or the sender's last report of the track.
    public let aliveUntilNanoseconds: Int64
    /// When the camera or microphone was off, or the recording paused.
    public let pauses: [Range<Int64>]

    init(_ source: TrackSource, end: Int64, zero: Int64, contents: RecordingContents) {
        self.source = source
        self.zero = zero
        self.firstNanoseconds = (source.next?.sessionNanoseconds ?? zero) &- zero
        self.endNanoseconds = max(end &- zero, self.firstNanoseconds) &+ Self.lastUnit
        let report = source.number.flatMap { contents.facts.lastReports[$0] }
        self.aliveUntilNanoseconds = max(self.endNanoseconds, report.map { $0 &- zero } ?? .min)
        let media = source.track.codec.kind
        self.pauses = contents.history.pauses.compactMap { pause in
            guard pause.concerns(source.number, of: source.participant, media) else { return nil }
            let (from, to) = (pause.startNanoseconds, pause.endNanoseconds)
            return from < to ? from &- zero..<max(from &- zero, to == .max ? .max : to &- zero) : nil
        }
    }

    /// The file, relative to the recording's folder.
    public var file: String { self.source.file }
    /// The sending participant's id.
    public var participant: String { self.source.participant }
    /// How payloads are coded.
    public var codec: MediaCodec { self.source.track.codec }
    /// Decoder set-up.
    public var codecPrivate: [UInt8] { self.source.track.codecPrivate }
    /// How long the decoder's output lags.
    public var codecDelayNanoseconds: Int64 { Int64(clamping: self.source.track.codecDelayNanoseconds) }
    /// Number of audio channels, from the file.
    public var channels: Int { self.source.track.audio?.channels ?? 2 }
    /// The file's size.
    public var bytes: UInt64 { self.source.size }

    /// The time of the unit that comes next; `nil` at the end.
    public var nextNanoseconds: Int64? { self.source.next.map { $0.sessionNanoseconds &- self.zero } }

    /// The recording's number of the track, if its journal knows it.
    public var number: Int? { self.source.number }

    /// The time of a unit that the recorder wrote, from the beginning of the range; `nil` if the journal does not know
    /// the track.
    public func nanoseconds(ofRTPTime rtpTime: Int64) -> Int64? {
        self.source.sessionTime(ofRTPTime: rtpTime).map { $0 &- self.zero }
    }

    /// The next unit; `nil` at the end.
    public mutating func next() throws(ExportError) -> Unit? {
        guard let next = self.source.next else { return nil }
        try self.source.advance()
        return Unit(
            nanoseconds: next.sessionNanoseconds &- self.zero,
            isKeyframe: next.block.isKeyframe,
            rotation: self.source.rotation(at: next.block.timeNanoseconds),
            payload: next.block.payload
        )
    }

    /// Leaves out what is over before the range begins, but for what a decoder needs.
    public mutating func skipToRange() throws(ExportError) {
        guard self.firstNanoseconds < 0 else { return }
        // Audio decoders must start a little earlier (RFC 7845 section 4.6).
        let lead: Int64 = self.codec.kind == .audio ? 80_000_000 : 0
        try self.source.skip(to: self.zero &- lead)
    }
}
