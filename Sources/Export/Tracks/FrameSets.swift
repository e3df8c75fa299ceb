// SPDX-License-Identifier: Apache-2.0

internal import Basics
import Matroska

/// Puts parameter sets of H.264 in front of each keyframe that needs others than those in the head of the export.
///
/// Players that seek give the decoder the head's sets at each keyframe. A sender may have sent others once, long before; and
/// where a participant's second file follows the first in one track, its sets are in its own head.
struct FrameSets {
    /// Parameter sets in the head of the export.
    private let head: H264KnownSets
    /// Parameter sets that a decoder has after everything so far.
    private var known: H264KnownSets
    /// The decoder set-up of the file that the last unit was of.
    private var configuration: [UInt8]

    /// For a track of the export; nil for any codec but H.264.
    init?(_ track: Track) {
        guard track.codec == .h264 else { return nil }
        var head = H264KnownSets()
        if let sets = H264.parameterSets(decoderConfiguration: track.codecPrivate) { head.note(sets) }
        self.head = head
        self.known = head
        self.configuration = track.codecPrivate
    }

    /// Completes the next unit, which is of a file with this track entry.
    mutating func complete(_ block: inout Block, of track: Track) {
        if track.codecPrivate != self.configuration {
            self.configuration = track.codecPrivate
            if let sets = H264.parameterSets(decoderConfiguration: track.codecPrivate) { self.known.note(sets) }
        }
        var own: [[UInt8]] = []
        block.payload.withUnsafeBytes { bytes in
            H264.forEachUnit(bytes, framing: .lengthPrefixed) { unit in
                if let type = unit.first.map({ $0 & 0x1F }), type == 7 || type == 8 { own.append(Array(unit)) }
            }
        }
        let sets = H264ParameterSets(units: own)
        if !own.isEmpty { self.known.note(sets) }
        guard block.isKeyframe else { return }
        var told = self.head
        told.note(sets)
        let lacking = self.known.lacking(in: told)
        guard !lacking.sequence.isEmpty || !lacking.picture.isEmpty else { return }
        var payload: [UInt8] = []
        for set in lacking.sequence + lacking.picture { H264.appendLengthPrefixed(unit: set, to: &payload) }
        block.payload = payload + block.payload
    }
}
