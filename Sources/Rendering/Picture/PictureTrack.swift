// SPDX-License-Identifier: Apache-2.0

internal import Export
internal import GStreamer
internal import Matroska

/// One track of pictures, decoded as far as the output is.
final class PictureTrack {
    private var track: RenderTrack
    private var chain: CodecChain?
    /// Decoded and not due yet, in order.
    private var waiting: [(sample: MediaSample, picture: Picture, nanoseconds: Int64)] = []
    private var unitsSinceOutput = 0
    private var isEnded = false
    private var needsKeyframe = true
    private var trouble = DecodingTrouble()

    /// What a decoder may keep back is fetched by pushing more, at most so many units ahead.
    private static let mostUnitsAhead = 16
    private static let mostNanosecondsAhead: Int64 = 2_000_000_000

    init(_ track: RenderTrack) throws(ExportError) {
        self.track = track
        try self.track.skipToRange()
    }

    /// The first unit, from the beginning of the range.
    var firstNanoseconds: Int64 { self.track.firstNanoseconds }
    /// About the end of the last unit.
    var endNanoseconds: Int64 { self.track.endNanoseconds }

    /// The newest picture that is due, if one became due since the last call.
    func newest(at nanoseconds: Int64) -> (sample: MediaSample, picture: Picture, nanoseconds: Int64)? {
        self.decode(until: nanoseconds)
        let due = self.waiting.prefix { $0.nanoseconds <= nanoseconds }
        self.waiting.removeFirst(due.count)
        return due.last
    }

    /// The next picture, due or not; `nil` at the end.
    func next() -> (sample: MediaSample, picture: Picture, nanoseconds: Int64)? {
        while self.waiting.isEmpty, !self.isEnded { self.decode(until: self.track.nextNanoseconds ?? .max) }
        return self.waiting.isEmpty ? nil : self.waiting.removeFirst()
    }

    /// What could not be decoded; `nil` if everything could.
    var warning: String? { self.trouble.warning(self.track.file, "pictures") }

    private func decode(until limit: Int64) {
        while !self.isEnded, (self.waiting.last?.nanoseconds ?? .min) <= limit {
            guard let next = self.track.nextNanoseconds, !self.trouble.isHopeless else {
                self.end()
                break
            }
            let isDue = next <= limit
            let isKeptBack = self.unitsSinceOutput > 0 && self.unitsSinceOutput < Self.mostUnitsAhead
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
        do throws(GStreamerError) {
            if self.chain == nil { self.chain = try Decoders.pictures(self.track) }
            guard let chain = self.chain else { return }
            let isTaken = chain.push(unit.payload, nanoseconds: unit.nanoseconds)
            self.unitsSinceOutput += 1
            self.fetch(chain, unit.nanoseconds)
            guard !isTaken else { return }
            self.trouble.failed()
            self.chain = nil
            self.needsKeyframe = true
        } catch {
            self.trouble.stop(error.message)
        }
    }

    private func fetch(_ chain: CodecChain, _ fallback: Int64) {
        while let sample = chain.pull() {
            self.unitsSinceOutput = 0
            self.trouble.pulled()
            guard let picture = sample.picture else { continue }
            self.waiting.append((sample, picture, picture.nanoseconds ?? fallback))
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
