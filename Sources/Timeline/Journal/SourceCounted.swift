// SPDX-License-Identifier: Apache-2.0

public import Basics

/// Why packets that came are in no file of a recording.
///
/// Each packet that is refused has one of these reasons. The raw values are part of the journal, the certificate, the HTTP API
/// and the metrics.
public enum RefusalReason: String, Sendable, Hashable, Codable, CodingKeyRepresentable, CaseIterable {
    /// The file has not begun: a decoder cannot start before a keyframe.
    case noKeyframe = "no-keyframe"
    /// A keyframe of H.264 uses parameter sets that never came, or that cannot be read.
    case noParameterSets = "no-parameter-sets"
    /// No description gives the payload type a meaning.
    case payloadTypeNotAccepted = "payload-type-not-accepted"
    /// The offer listed the payload type, and the answer left it out.
    case codecRefused = "codec-refused"
    /// Another layer of the same camera is recorded.
    case simulcastLayer = "simulcast-layer"
    /// The payload is encrypted, or broken: it is nothing of its codec.
    case undecodable
    /// They were not made with the key of the participant's handshake: anyone may have sent them.
    case notAuthentic = "not-authentic"
    /// Others of the same frame never came, so that nothing can be made of it.
    case incompleteFrame = "incomplete-frame"
    /// They came a second time, or after the recorder had stopped waiting for them.
    case late
    /// A bounded queue was full.
    case queueFull = "queue-full"
    /// The recording was paused.
    case paused
    /// The room does not record video.
    case videoOff = "video-off"
    /// The room does not record audio.
    case audioOff = "audio-off"
    /// The RTP clock of the sender jumps too often, or too far.
    case impossibleClock = "impossible-clock"
    /// The participant begins more tracks than a recording has room for.
    case tooManyTracks = "too-many-tracks"
    /// The disk did not take them.
    case disk

    /// Whether the operator wanted it so, or a better layer is recorded in their place.
    var isWanted: Bool {
        switch self {
        case .paused, .videoOff, .audioOff, .simulcastLayer: true
        case .noKeyframe, .noParameterSets, .payloadTypeNotAccepted, .codecRefused, .undecodable, .notAuthentic,
            .incompleteFrame, .late, .queueFull, .impossibleClock, .tooManyTracks, .disk:
            false
        }
    }

    /// A keyframe comes within a second of the request for it, with what H.264 needs for it.
    private static let longestBeginning: Int64 = 3_000_000_000

    /// Whether this many packets are missing from a source that is recorded otherwise.
    func isLoss(_ figure: RefusedPackets) -> Bool {
        guard figure.packets > 0 else { return false }
        switch self {
        case .noKeyframe, .noParameterSets: return figure.nanoseconds > Self.longestBeginning
        case .payloadTypeNotAccepted, .codecRefused, .undecodable, .notAuthentic, .queueFull, .impossibleClock,
            .tooManyTracks, .disk:
            return true
        // Packets that never came are the cause, or other media are recorded in their place.
        case .simulcastLayer, .incompleteFrame, .late, .paused, .videoOff, .audioOff: return false
        }
    }

    /// One human-readable line, without a full stop.
    public var text: String {
        switch self {
        case .noKeyframe: "no keyframe yet"
        case .noParameterSets: "H.264 parameter sets unknown"
        case .payloadTypeNotAccepted: "payload type not accepted"
        case .codecRefused: "codec refused in the answer"
        case .simulcastLayer: "simulcast layer not taken"
        case .undecodable: "payload encrypted or undecodable"
        case .notAuthentic: "not made with the key of the handshake"
        case .incompleteFrame: "frame incomplete"
        case .late: "late or repeated"
        case .queueFull: "queue full"
        case .paused: "paused"
        case .videoOff: "video off"
        case .audioOff: "audio off"
        case .impossibleClock: "impossible clock"
        case .tooManyTracks: "too many tracks"
        case .disk: "disk failed"
        }
    }
}

/// Audio or video that a participant would have sent, and of which no packet comes: our answer refused it, or the connection
/// that should have carried it did not come about.
public struct MediaRefused: Sendable, Hashable, Codable {
    /// The participant's id in the room; untrusted.
    public var participant: String
    /// Audio or video.
    public var media: MediaKind
    /// Why, in a few words.
    public var reason: String
    /// How long the connection was awaited, in nanoseconds; `nil` where our answer refused the media.
    public var awaitedNanoseconds: Int64?

    /// A record with each part given.
    public init(participant: String, media: MediaKind, reason: String, awaitedNanoseconds: Int64? = nil) {
        self.participant = participant
        self.media = media
        self.reason = reason
        self.awaitedNanoseconds = awaitedNanoseconds
    }

    private enum CodingKeys: String, CodingKey {
        case participant, media, reason
        case awaitedNanoseconds = "awaited_ns"
    }
}

/// Packets that were refused for one reason.
public struct RefusedPackets: Sendable, Hashable, Codable {
    /// How many.
    public var packets: UInt64
    /// How long they came, in nanoseconds.
    ///
    /// Pauses of more than a second count as a second, but for the time before the first keyframe of a track, which counts whole.
    public var nanoseconds: Int64

    /// Packets with both parts given.
    public init(packets: UInt64 = 0, nanoseconds: Int64 = 0) {
        self.packets = packets
        self.nanoseconds = nanoseconds
    }

    /// Adds others that were refused for the same reason.
    public static func += (sum: inout RefusedPackets, others: RefusedPackets) {
        sum.packets &+= others.packets
        sum.nanoseconds &+= others.nanoseconds
    }

    private enum CodingKeys: String, CodingKey {
        case packets
        case nanoseconds = "ns"
    }
}

/// Outcomes of the RTP packets of one source (SSRC, RFC 3550 section 3) so far.
///
/// Every packet is counted once: `received` = `before` + `recorded` + `empty` + `waiting` + all that is `refused`. The left side
/// is counted where packets are authenticated, each term of the right side where it happens. A later record of the same source
/// replaces an earlier one.
public struct SourceCounted: Sendable, Hashable, Codable {
    /// The peer connection, by its number in this process.
    public var connection: UInt64
    /// Synchronisation source.
    public var ssrc: UInt32
    /// The participant's id in the room; untrusted.
    public var participant: String
    /// `video` or `audio`; `nil` if unknown.
    public var media: String?
    /// The tracks of this recording that its media are in.
    public var tracks: [Int]
    /// Authenticated packets since the connection began, those that were restored from retransmissions among them.
    public var received: UInt64
    /// Those of them that came before the recording, or are in another one.
    public var before: UInt64
    /// Packets whose media are in the recording's files.
    public var recorded: UInt64
    /// Packets without a payload, which senders use as padding.
    public var empty: UInt64
    /// Packets that wait for others: for a retransmission, or for the rest of a frame.
    public var waiting: UInt64
    /// Packets that say that they end in padding, which looks like media: a frame may lack its end; `nil` for none.
    ///
    /// The terms of the sum count them as well.
    public var doubtful: UInt64?
    /// Frames that their numbers show to be missing though no packet is: a server lost them; `nil` for none.
    public var skipped: UInt64?
    /// All others.
    public var refused: [RefusalReason: RefusedPackets]
    /// Whether the source sends no more.
    ///
    /// Until then packets are on their way while they are counted, and those are `waiting`.
    public var isFinal: Bool

    /// A record with each part given.
    public init(
        connection: UInt64,
        ssrc: UInt32,
        participant: String,
        media: String?,
        tracks: [Int],
        received: UInt64,
        before: UInt64 = 0,
        recorded: UInt64,
        empty: UInt64 = 0,
        waiting: UInt64 = 0,
        doubtful: UInt64? = nil,
        skipped: UInt64? = nil,
        refused: [RefusalReason: RefusedPackets] = [:],
        isFinal: Bool
    ) {
        self.connection = connection
        self.ssrc = ssrc
        self.participant = participant
        self.media = media
        self.tracks = tracks
        self.received = received
        self.before = before
        self.recorded = recorded
        self.empty = empty
        self.waiting = waiting
        self.doubtful = doubtful
        self.skipped = skipped
        self.refused = refused
        self.isFinal = isFinal
    }

    /// Packets that came for this recording, whatever became of them.
    public var ofRecording: UInt64 { self.received >= self.before ? self.received - self.before : 0 }

    /// All packets that were refused.
    public var refusedPackets: UInt64 { self.refused.values.reduce(0) { $0 &+ $1.packets } }

    /// How many packets have no account, or have two if it is negative; 0 if the account balances.
    ///
    /// A source that sends no more has none that wait.
    public var imbalance: Int64 {
        let waiting = self.isFinal ? 0 : self.waiting
        let sum = self.before &+ self.recorded &+ self.empty &+ waiting &+ self.refusedPackets
        return Int64(truncatingIfNeeded: self.received &- sum)
    }

    /// Packets of media that reached the recorder and are in no file, though they were wanted.
    private var unrecorded: UInt64 {
        let wanted = self.refused.filter { $0.key.isWanted }.values.reduce(0) { $0 &+ $1.packets }
        let media = self.ofRecording &- min(self.ofRecording, self.empty &+ wanted)
        return media &- min(media, self.recorded)
    }

    /// Whether the source sent media that were wanted, and none of them is in a file.
    public var isUnrecorded: Bool { self.recorded == 0 && self.unrecorded > 0 }

    /// Whether media are missing from the recording for it: all of them, or more than a sender's beginning costs.
    ///
    /// The account does not cover media that never came: lost packets are counted by their sequence numbers.
    public var losesMedia: Bool { self.isUnrecorded || self.hasLoss }

    /// Whether more packets were refused for one reason than a sender's beginning costs, or frames may lack their ends, or never
    /// came; this stays true of an account that grows.
    public var hasLoss: Bool {
        self.doubtful ?? 0 > 0 || self.skipped ?? 0 > 0 || self.refused.contains { $0.key.isLoss($0.value) }
    }

    private enum CodingKeys: String, CodingKey {
        case connection, ssrc, participant, media, tracks, received, before, recorded, empty, waiting, doubtful, skipped
        case refused
        case isFinal = "final"
    }
}

extension SourceCounted {
    private static func packets(_ count: UInt64) -> String { "\(count) \(count == 1 ? "packet" : "packets")" }

    /// Refused packets by reason, largest number first, such as `142 packets: no keyframe yet (9.3 s)`, doubtful ones, and frames
    /// that a server lost; empty if there are none.
    public var refusedText: String {
        let sorted = self.refused.filter { $0.value.packets > 0 }.sorted {
            ($1.value.packets, $0.key.rawValue) < ($0.value.packets, $1.key.rawValue)
        }
        let texts = sorted.map { reason, figure in
            let tenths = figure.nanoseconds / 100_000_000
            let time = tenths > 0 ? " (\(tenths / 10).\(tenths % 10) s)" : ""
            return "\(Self.packets(figure.packets)): \(reason.text)\(time)"
        }
        let doubtful = self.doubtful.map { ["\(Self.packets($0)): padding that looks like media"] } ?? []
        let skipped = self.skipped.map { count in
            ["\(count) \(count == 1 ? "frame" : "frames"): lost before a server numbered their packets"]
        }
        return (texts + doubtful + (skipped ?? [])).joined(separator: ", ")
    }
}
