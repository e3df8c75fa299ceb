// SPDX-License-Identifier: Apache-2.0

/// An event of a recording.
///
/// Kinds of which there are few are kept elsewhere: an entry is small, and a journal has hundreds of thousands.
public enum JournalRecord: Sendable, Hashable {
    /// The recording began.
    indirect case recordingStarted(RecordingStarted)
    /// Another process continues the recording: entries from here on are on its host's clock.
    indirect case partStarted(PartStarted)
    /// A participant came.
    indirect case participantJoined(ParticipantJoined)
    /// A participant went.
    indirect case participantLeft(ParticipantLeft)
    /// A track's file was created.
    indirect case trackOpened(TrackOpened)
    /// An RTCP sender report came.
    case senderReport(SenderReport)
    /// A unit came: its RTP time on our clock.
    case clockAnchor(ClockAnchor)
    /// A video track changed its size or parameter sets.
    indirect case formatChanged(FormatChanged)
    /// Packets received and lost so far.
    case packetsCounted(PacketsCounted)
    /// Outcomes of the packets of a source so far.
    indirect case sourceCounted(SourceCounted)
    /// Our answer refused what a participant would have sent.
    indirect case mediaRefused(MediaRefused)
    /// A track's file was finished.
    indirect case trackClosed(TrackClosed)
    /// Packets of a video track never came: its units cannot be decoded from here on.
    case trackDamaged(TrackDamaged)
    /// A keyframe came to a damaged track: its units can be decoded again.
    case trackMended(TrackMended)
    /// A participant wrote something.
    indirect case chatMessage(ChatMessage)
    /// The details of the recording were changed.
    indirect case detailsChanged(DetailsChanged)
    /// Something worth finding again happened.
    indirect case marker(Marker)
    /// The recording ended normally.
    indirect case recordingFinished(RecordingFinished)
}

/// One line of `journal.jsonl`: a record and when it was made.
///
/// As JSON it is one flat object: `v` (version), `at` (monotonic nanoseconds), `kind`, and the record's own keys.
/// Keys and kinds never change their meaning; new kinds may come, and readers skip those that they do not know.
public struct JournalEntry: Sendable, Hashable {
    /// The version that this code writes, and the highest that it reads.
    public static let version = 1

    /// When, in nanoseconds of the recording host's monotonic clock.
    public var monotonicNanoseconds: Int64
    /// The event.
    public var record: JournalRecord

    /// An entry with both parts given.
    public init(_ record: JournalRecord, monotonicNanoseconds: Int64) {
        self.record = record
        self.monotonicNanoseconds = monotonicNanoseconds
    }
}

extension JournalEntry: Codable {
    private enum CodingKeys: String, CodingKey {
        case version = "v"
        case monotonicNanoseconds = "at"
        case kind
    }

    private enum Kind: String, Codable {
        case recordingStarted = "recording-started"
        case partStarted = "part-started"
        case participantJoined = "participant-joined"
        case participantLeft = "participant-left"
        case trackOpened = "track-opened"
        case senderReport = "sender-report"
        case clockAnchor = "clock-anchor"
        case formatChanged = "format-changed"
        case packetsCounted = "packets-counted"
        case sourceCounted = "source-counted"
        case mediaRefused = "media-refused"
        case trackClosed = "track-closed"
        case trackDamaged = "track-damaged"
        case trackMended = "track-mended"
        case chatMessage = "chat-message"
        case detailsChanged = "details-changed"
        case marker
        case recordingFinished = "recording-finished"
    }

    /// Decodes a flat object; throws for another version, an unknown kind and a record that lacks a key.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        let version = try container.decode(Int.self, forKey: .version)
        guard version == Self.version else {
            throw DecodingError.dataCorruptedError(
                forKey: .version,
                in: container,
                debugDescription: "version \(version) is not known"
            )
        }
        self.monotonicNanoseconds = try container.decode(Int64.self, forKey: .monotonicNanoseconds)
        self.record =
            switch try container.decode(Kind.self, forKey: .kind) {
            case .recordingStarted: .recordingStarted(try RecordingStarted(from: decoder))
            case .partStarted: .partStarted(try PartStarted(from: decoder))
            case .participantJoined: .participantJoined(try ParticipantJoined(from: decoder))
            case .participantLeft: .participantLeft(try ParticipantLeft(from: decoder))
            case .trackOpened: .trackOpened(try TrackOpened(from: decoder))
            case .senderReport: .senderReport(try SenderReport(from: decoder))
            case .clockAnchor: .clockAnchor(try ClockAnchor(from: decoder))
            case .formatChanged: .formatChanged(try FormatChanged(from: decoder))
            case .packetsCounted: .packetsCounted(try PacketsCounted(from: decoder))
            case .sourceCounted: .sourceCounted(try SourceCounted(from: decoder))
            case .mediaRefused: .mediaRefused(try MediaRefused(from: decoder))
            case .trackClosed: .trackClosed(try TrackClosed(from: decoder))
            case .trackDamaged: .trackDamaged(try TrackDamaged(from: decoder))
            case .trackMended: .trackMended(try TrackMended(from: decoder))
            case .chatMessage: .chatMessage(try ChatMessage(from: decoder))
            case .detailsChanged: .detailsChanged(try DetailsChanged(from: decoder))
            case .marker: .marker(try Marker(from: decoder))
            case .recordingFinished: .recordingFinished(try RecordingFinished(from: decoder))
            }
    }

    /// Encodes a flat object.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(Self.version, forKey: .version)
        try container.encode(self.monotonicNanoseconds, forKey: .monotonicNanoseconds)
        let (kind, payload): (Kind, any Encodable) =
            switch self.record {
            case .recordingStarted(let payload): (.recordingStarted, payload)
            case .partStarted(let payload): (.partStarted, payload)
            case .participantJoined(let payload): (.participantJoined, payload)
            case .participantLeft(let payload): (.participantLeft, payload)
            case .trackOpened(let payload): (.trackOpened, payload)
            case .senderReport(let payload): (.senderReport, payload)
            case .clockAnchor(let payload): (.clockAnchor, payload)
            case .formatChanged(let payload): (.formatChanged, payload)
            case .packetsCounted(let payload): (.packetsCounted, payload)
            case .sourceCounted(let payload): (.sourceCounted, payload)
            case .mediaRefused(let payload): (.mediaRefused, payload)
            case .trackClosed(let payload): (.trackClosed, payload)
            case .trackDamaged(let payload): (.trackDamaged, payload)
            case .trackMended(let payload): (.trackMended, payload)
            case .chatMessage(let payload): (.chatMessage, payload)
            case .detailsChanged(let payload): (.detailsChanged, payload)
            case .marker(let payload): (.marker, payload)
            case .recordingFinished(let payload): (.recordingFinished, payload)
            }
        try container.encode(kind, forKey: .kind)
        try payload.encode(to: encoder)
    }
}
