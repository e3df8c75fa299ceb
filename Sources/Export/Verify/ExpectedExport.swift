// SPDX-License-Identifier: Apache-2.0

internal import Basics
import Timeline

/// Units that the tracks of a recording contribute to an export of the whole, as far as known.
///
/// A track that was damaged may have been so before the export or after it: then the export is right with what the file
/// holds now, with what was written to it, and with anything between.
struct ExpectedExport {
    /// Units of one codec that it may hold.
    struct Codec {
        /// The fewest units.
        var least: UInt64 = 0
        /// The most units; `.max` if unknown.
        var most: UInt64 = 0
        /// Bytes of payload of the most units; `nil` if that is not known.
        var bytes: UInt64? = 0
    }

    /// By the codec's short name.
    private(set) var codecs: [String: Codec] = [:]
    /// How long it lasts, within a tick; `nil` if a track is not whole or units are left out of it.
    private(set) var durationNanoseconds: Int64?

    /// - Parameter durationNanoseconds: the recording's, if all tracks are whole; `nil` if that is not known.
    init(durationNanoseconds: Int64?) {
        self.durationNanoseconds = durationNanoseconds
    }

    /// Adds a track whose file is as it was written.
    mutating func add(whole track: Certificate.Track) {
        let least = track.units - min(track.units, track.leftOut)
        self.add(track.codec.rawValue, least: least, most: track.units, bytes: track.bytes)
        if track.leftOut > 0 { self.durationNanoseconds = nil }
    }

    /// Adds a track whose file is missing, or not what was written to it.
    ///
    /// - Parameters:
    ///   - track: what can be read of it; `nil` for nothing.
    ///   - written: how many units were written to it, or were there earlier; `nil` if unknown.
    mutating func add(damaged track: Certificate.Track?, codec: String, written: UInt64?) {
        let now = track.map { $0.units - min($0.units, $0.leftOut) } ?? 0
        self.add(codec, least: now, most: written.map { max($0, track?.units ?? 0) } ?? .max, bytes: nil)
        self.durationNanoseconds = nil
    }

    private mutating func add(_ name: String, least: UInt64, most: UInt64, bytes: UInt64?) {
        var codec = self.codecs[name] ?? Codec()
        let (sum, overflow) = codec.most.addingReportingOverflow(most)
        codec.least += least
        codec.most = overflow ? .max : sum
        codec.bytes = codec.bytes.flatMap { before in bytes.map { before &+ $0 } }
        self.codecs[name] = codec
    }
}
