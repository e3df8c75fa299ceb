// SPDX-License-Identifier: Apache-2.0

internal import Basics
internal import Export
internal import GStreamer
internal import Matroska

/// A frame that was decoded.
struct Decoded {
    let sample: MediaSample
    let shape: FrameShape
    /// How it is turned.
    let rotation: VideoRotation
    /// When it is due, from the beginning of the range.
    let nanoseconds: Int64
}

/// One video track, decoded as far as the output needs.
final class DecodedVideo {
    private var track: RenderTrack
    private var chain: CodecChain?
    /// Decoded and not due yet, in order.
    private var waiting: [Decoded] = []
    /// Units whose frames did not come out of the decoder yet, the newest last: frames come in the order in which they are shown.
    private var inside: [(nanoseconds: Int64, rotation: VideoRotation)] = []
    /// How the newest frame of the decoder is turned.
    private var rotation = VideoRotation.upright
    private var isEnded = false
    private var needsKeyframe = true
    private var trouble = DecodingTrouble()
    /// How long its newest frame is shown.
    let hold: FrameHold

    /// Frames that a decoder may keep back are fetched by pushing more units, at most this many ahead.
    private static let mostUnitsAhead = 16
    private static let mostNanosecondsAhead: Int64 = 2_000_000_000

    init(_ track: RenderTrack) throws(ExportError) {
        self.track = track
        self.hold = FrameHold(aliveUntilNanoseconds: track.aliveUntilNanoseconds, pauses: track.pauses)
        try self.track.skipToRange()
    }

    /// The first unit, from the beginning of the range.
    var firstNanoseconds: Int64 { self.track.firstNanoseconds }
    /// About the end of the last unit.
    var endNanoseconds: Int64 { self.track.endNanoseconds }

    /// The newest frame that is due, if one became due since the last call.
    func newest(at nanoseconds: Int64) -> Decoded? {
        self.decode(until: nanoseconds)
        let due = self.waiting.prefix { $0.nanoseconds <= nanoseconds }
        self.waiting.removeFirst(due.count)
        return due.last
    }

    /// The next frame, due or not; `nil` at the end.
    func next() -> Decoded? {
        while self.waiting.isEmpty, !self.isEnded { self.decode(until: self.track.nextNanoseconds ?? .max) }
        return self.waiting.isEmpty ? nil : self.waiting.removeFirst()
    }

    /// The warning about a participant's units that could not be decoded; `nil` if all could.
    func warning(of participant: String) -> String? {
        self.trouble.sizeWarning(self.track.file, of: participant) ?? self.trouble.warning(self.track.file, "frames")
    }

    private func decode(until limit: Int64) {
        while !self.isEnded, (self.waiting.last?.nanoseconds ?? .min) <= limit {
            guard let next = self.track.nextNanoseconds, !self.trouble.isHopeless else {
                self.end()
                break
            }
            let isDue = next <= limit
            let isKeptBack = !self.inside.isEmpty && self.inside.count < Self.mostUnitsAhead
            guard isDue || (isKeptBack && next <= limit &+ Self.mostNanosecondsAhead) else { break }
            do throws(ExportError) {
                guard let unit = try self.track.next() else { continue }
                self.decode(unit)
            } catch {
                self.trouble.stop(error.message)
            }
        }
    }

    private func decode(_ unit: RenderTrack.Unit) {
        if self.needsKeyframe {
            self.trouble.pushed()
            guard unit.isKeyframe else { return }
            self.needsKeyframe = false
        } else {
            self.trouble.pushed()
        }
        guard self.fits(unit) else {
            // Those behind it refer to it.
            self.needsKeyframe = true
            return
        }
        do throws(GStreamerError) {
            if self.chain == nil {
                let sets = H264.parameterSets(decoderConfiguration: self.track.codecPrivate)
                guard self.track.codec != .h264 || self.trouble.mayDecode(sets?.codedSize ?? .fits) else {
                    self.needsKeyframe = true
                    return
                }
                self.chain = try Decoders.video(self.track)
            }
            guard let chain = self.chain else { return }
            if self.inside.count == Self.mostUnitsAhead { self.inside.removeFirst() }
            self.inside.append((unit.nanoseconds, unit.rotation))
            let isTaken = chain.push(unit.payload, nanoseconds: unit.nanoseconds)
            self.fetch(chain, unit.nanoseconds)
            guard !isTaken else { return }
            self.trouble.failed()
            self.chain = nil
            self.inside = []
            self.needsKeyframe = true
        } catch {
            self.trouble.stop(error.message)
        }
    }

    /// Whether a decoder may have a unit; one that is too large is noted.
    private func fits(_ unit: RenderTrack.Unit) -> Bool {
        let size = unit.payload.withUnsafeBytes {
            Bitstream.codedSize(self.track.codec, $0, framing: .lengthPrefixed)
        }
        return self.trouble.mayDecode(size)
    }

    private func fetch(_ chain: CodecChain, _ fallback: Int64) {
        while let sample = chain.pull() {
            self.trouble.pulled()
            guard let shape = sample.shape else { continue }
            let nanoseconds = shape.nanoseconds ?? fallback
            let unit = self.inside.filter { $0.nanoseconds <= nanoseconds }.max { $0.nanoseconds < $1.nanoseconds }
            self.rotation = unit?.rotation ?? self.rotation
            self.inside.removeAll { $0.nanoseconds <= nanoseconds }
            self.waiting.append(
                Decoded(sample: sample, shape: shape, rotation: self.rotation, nanoseconds: nanoseconds)
            )
        }
    }

    /// Fetches what the decoder kept back, and lets it go.
    private func end() {
        if let chain = self.chain {
            chain.finish()
            self.fetch(chain, self.track.endNanoseconds)
        }
        self.chain = nil
        self.isEnded = true
    }
}
