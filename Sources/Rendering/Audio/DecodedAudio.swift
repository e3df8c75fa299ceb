// SPDX-License-Identifier: Apache-2.0

internal import Export
internal import GStreamer
internal import Matroska

/// One audio track, decoded as far as the mix needs.
final class DecodedAudio {
    /// Index of its sender among the participants.
    let participant: Int
    private var track: RenderTrack
    private var chain: CodecChain?
    private var placement = AudioPlacement()
    private var queue = SampleQueue()
    private var trouble = DecodingTrouble()

    /// Packets are taken from the file this much before they are due: their times are not those of the mix to a sample.
    private static let lead: Int64 = 100_000_000

    init(_ track: RenderTrack, participant: Int) throws(ExportError) {
        self.track = track
        self.participant = participant
        try self.track.skipToRange()
    }

    /// Adds its part to a stretch of the mix; returns the sum of squares.
    func mix(into output: inout [Float], from start: Int64) -> Double {
        self.decode(until: (start + Int64(output.count / 2)) * 1_000_000 / 48 + Self.lead)
        return self.queue.mix(into: &output, from: start)
    }

    /// The warning about packets that could not be decoded; `nil` if all could.
    var warning: String? { self.trouble.warning(self.track.file, "packets") }

    private func decode(until limit: Int64) {
        while let due = self.track.nextNanoseconds, due < limit {
            do throws(ExportError) {
                guard let unit = try self.track.next() else { break }
                self.decode(unit)
            } catch {
                self.trouble.stop(error.message)
                break
            }
        }
        // Nothing more comes: the decoder's memory is of no use.
        if self.track.nextNanoseconds == nil { self.chain = nil }
    }

    private func decode(_ unit: RenderTrack.Unit) {
        guard !self.trouble.isHopeless else { return }
        self.trouble.pushed()
        do throws(GStreamerError) {
            if self.chain == nil { self.chain = try Decoders.audio(self.track) }
            guard let chain = self.chain else { return }
            if !chain.push(unit.payload, nanoseconds: unit.nanoseconds) {
                self.trouble.failed()
                self.chain = nil
            }
            while let sample = chain.pull() {
                self.trouble.pulled()
                sample.withFloats { samples, nanoseconds in
                    let time = (nanoseconds ?? unit.nanoseconds) - self.track.codecDelayNanoseconds
                    // Rounded down for either sign.
                    let start = (time * 48 + 500_000 - (time < 0 ? 999_999 : 0)) / 1_000_000
                    self.queue.append(samples, self.placement.place(at: start, count: samples.count / 2))
                }
            }
        } catch {
            self.trouble.stop(error.message)
        }
    }
}
