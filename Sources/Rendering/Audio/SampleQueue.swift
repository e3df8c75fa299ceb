// SPDX-License-Identifier: Apache-2.0

/// Decoded stereo of one track that was not mixed yet, with its place in the mix.
struct SampleQueue {
    /// Fades at the edges of a gap, in frames.
    private static let fade = 96

    private var samples: [Float] = []
    /// The place of the first sample.
    private var start: Int64 = 0

    /// Appends a packet at its place; what is left out before it is silence.
    mutating func append(_ packet: UnsafeBufferPointer<Float>, _ place: AudioPlacement.Place) {
        let frames = packet.count / 2 - place.dropped
        guard frames > 0, place.length > 0 else { return }
        if self.samples.isEmpty { self.start = place.start }
        let end = self.start + Int64(self.samples.count / 2)
        let gap = Int(clamping: max(0, place.start - end))
        if !place.isContinuous { self.fadeOut() }
        self.samples.append(contentsOf: repeatElement(0, count: gap * 2))
        let first = self.samples.count
        for frame in 0..<place.length {
            // Linear interpolation is enough for half a percent.
            let position =
                place.length == frames ? Double(frame) : Double(frame) * Double(frames) / Double(place.length)
            let index = min(frames - 1, Int(position))
            let next = min(frames - 1, index + 1)
            let part = Float(position - Double(index))
            for channel in 0..<2 {
                let a = packet[(place.dropped + index) * 2 + channel]
                let b = packet[(place.dropped + next) * 2 + channel]
                let value = a + (b - a) * part
                self.samples.append(value.isFinite ? max(-4, min(4, value)) : 0)
            }
        }
        if !place.isContinuous { self.fadeIn(from: first) }
    }

    /// Adds what belongs to a stretch of the mix, and forgets it and all before; returns the sum of squares.
    mutating func mix(into output: inout [Float], from mixStart: Int64) -> Double {
        let frames = output.count / 2
        let skipped = min(self.samples.count / 2, Int(clamping: max(0, mixStart - self.start)))
        let offset = Int(clamping: max(0, self.start - mixStart))
        let count = max(0, min(frames - offset, self.samples.count / 2 - skipped))
        var power = 0.0
        if offset < frames, count > 0 {
            self.samples.withUnsafeBufferPointer { source in
                output.withUnsafeMutableBufferPointer { target in
                    var sum: Float = 0
                    for index in 0..<(count * 2) {
                        let value = source[skipped * 2 + index]
                        target[offset * 2 + index] += value
                        sum += value * value
                    }
                    power = Double(sum) / 2
                }
            }
        }
        let done = min(self.samples.count / 2, Int(clamping: max(0, mixStart + Int64(frames) - self.start)))
        self.samples.removeFirst(done * 2)
        self.start += Int64(done)
        return power
    }

    private mutating func fadeOut() {
        let frames = min(Self.fade, self.samples.count / 2)
        for frame in 0..<frames {
            let factor = Float(frame) / Float(Self.fade)
            self.samples[self.samples.count - 1 - frame * 2] *= factor
            self.samples[self.samples.count - 2 - frame * 2] *= factor
        }
    }

    private mutating func fadeIn(from first: Int) {
        for frame in 0..<min(Self.fade, (self.samples.count - first) / 2) {
            let factor = Float(frame) / Float(Self.fade)
            self.samples[first + frame * 2] *= factor
            self.samples[first + frame * 2 + 1] *= factor
        }
    }
}
