// SPDX-License-Identifier: Apache-2.0

import Matroska
import Storage

/// Reads an export back before it gets its final name.
enum ExportVerification {
    private struct Count: Equatable {
        var units: UInt64 = 0
        var bytes: UInt64 = 0
        var keyframes: UInt64 = 0
        var firstNanoseconds: Int64 = 0
        var lastNanoseconds: Int64 = 0
    }

    /// Reads the output back and returns the file's SHA-256.
    ///
    /// Throws unless every unit is there, times rise in each track (except of frames that are shown in another order
    /// than they are sent) and begin and end where they should, the stated duration covers them, and nothing is torn.
    static func check(_ output: OutputFile, tallies: [TrackTally]) throws -> String {
        do {
            let file = HashingFile(output.file)
            var reader = try Reader(file)
            try self.require(reader.tracks.count == tallies.count, output, "has \(reader.tracks.count) tracks")
            var counts = tallies.map { _ in Count() }
            while let head = try reader.nextHead() {
                let index = head.track - 1
                try self.require(counts.indices.contains(index), output, "has a block of track \(head.track)")
                let stepBack = tallies[index].mayReorder ? TrackMerge.longestStepBackNanoseconds : 0
                let (least, overflow) = counts[index].lastNanoseconds.subtractingReportingOverflow(stepBack)
                try self.require(
                    counts[index].units == 0 || !overflow && head.timeNanoseconds > least,
                    output,
                    "has times in track \(head.track) that do not rise"
                )
                if counts[index].units == 0 { counts[index].firstNanoseconds = head.timeNanoseconds }
                counts[index].units += 1
                counts[index].bytes += UInt64(head.payloadSize)
                counts[index].keyframes += head.isKeyframe ? 1 : 0
                counts[index].lastNanoseconds = max(counts[index].lastNanoseconds, head.timeNanoseconds)
            }
            let expected = tallies.map { tally in
                Count(
                    units: tally.units,
                    bytes: tally.bytes,
                    keyframes: tally.keyframes,
                    firstNanoseconds: tally.firstNanoseconds,
                    lastNanoseconds: tally.lastNanoseconds
                )
            }
            for (index, (count, wanted)) in zip(counts, expected).enumerated() {
                try self.require(
                    count == wanted,
                    output,
                    "has \(count) instead of \(wanted) in track \(index + 1)"
                )
            }
            let last = expected.map(\.lastNanoseconds).max() ?? 0
            // Without a Duration all of it is at its beginning: zero is not valid (RFC 9559 section 5.1.2.10).
            try self.require((reader.durationNanoseconds ?? 0) >= last, output, "states a duration that is too short")
            try self.require(reader.tornTailOffset.map { $0 >= output.file.count } ?? true, output, "has a torn end")
            try self.require(reader.damage.count == 0, output, "is damaged in its middle")
            return try file.sha256()
        } catch let error as MatroskaError {
            throw ExportError(error, file: output.path)
        }
    }

    private static func require(_ condition: Bool, _ output: OutputFile, _ finding: @autoclosure () -> String) throws {
        guard !condition else { return }
        throw ExportError(.verificationFailed, "the export to \(output.path) was thrown away: it \(finding())")
    }
}
