// SPDX-License-Identifier: Apache-2.0

internal import Basics
internal import GStreamer
internal import Matroska

/// A received track as outputs see it.
struct OutputTrack: Sendable {
    /// Rises with each track of the room.
    var id: UInt64
    var connection: UInt64
    var participant: String
    var format: OutputFormat
    /// Identification tag of the m-line, if the description has one.
    var mid: String?
    var fork: RTPFork
}

/// The description's data on a track.
struct OutputFormat: Sendable, Hashable {
    var codec: MediaCodec
    var clockRateHz: Int
    var channels: Int
    /// Profile and level of H.264, if known.
    var profileLevelID: String?
    /// The parameter sets of H.264 that the sender's description states; a receiver may get them nowhere else.
    var parameterSets: H264ParameterSets?

    /// Whether a description would lack parameter sets that the packets may have.
    var lacksSets: Bool { self.codec == .h264 && self.statedSets == nil }

    /// The same with parameter sets out of packets, where none are known, and the profile that they say.
    func stating(_ units: [[UInt8]]?) -> OutputFormat {
        guard self.lacksSets, let units else { return self }
        var format = self
        let sets = H264ParameterSets(units: units)
        format.parameterSets = sets
        // Profile, constraints and level follow the type (ISO/IEC 14496-10 section 7.3.2.1.1).
        if format.profileLevelID == nil, let set = sets.sequence.first, set.count > 3 {
            format.profileLevelID = Hexadecimal.text(of: set[1...3])
        }
        return format
    }

    /// The value of `sprop-parameter-sets` (RFC 6184 section 8.1); nil for none.
    var statedSets: String? {
        let units = self.parameterSets.map { $0.sequence + $0.picture } ?? []
        return units.isEmpty ? nil : units.map(Base64.encode).joined(separator: ",")
    }
}

/// Which of a participant's tracks of one kind is sent.
///
/// webrtcbin never says that a track has ended: one that a sender replaced just goes silent.
enum OutputSourceChoice {
    /// The candidates; in the order in which the tracks came.
    struct Candidate: Sendable, Hashable {
        var id: UInt64
        var mid: String?
        /// `CLOCK_MONOTONIC` of the last packet; nil before the first.
        var lastPacketNanoseconds: Int64?
    }

    private static let silence: Int64 = 2_000_000_000

    /// The track that is sent from now on: the present one, unless it was replaced on its m-line, or is silent for two
    /// seconds while another one is not.
    static func choose(current: UInt64?, among candidates: [Candidate], now: Int64) -> UInt64? {
        guard let current = candidates.first(where: { $0.id == current }) else { return candidates.last?.id }
        if let mid = current.mid, let newest = candidates.last(where: { $0.mid == mid }), newest.id > current.id {
            return newest.id
        }
        func isHeard(_ candidate: Candidate) -> Bool {
            candidate.lastPacketNanoseconds.map { now - $0 < Self.silence } ?? false
        }
        guard !isHeard(current), let other = candidates.last(where: isHeard) else { return current.id }
        return other.id
    }
}
