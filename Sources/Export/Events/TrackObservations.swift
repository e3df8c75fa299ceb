// SPDX-License-Identifier: Apache-2.0

internal import Basics
import Matroska

/// Events that the units of one track show without being decoded.
struct TrackObservations {
    /// A change of frame size.
    struct Resize: Hashable {
        var nanoseconds: Int64
        var before: String
        var after: String
    }

    /// The most observations of a kind that are kept.
    static let maximumCount = 1_000

    private(set) var resizes: [Resize] = []
    private(set) var quietStretches: [QuietRun.Stretch] = []
    /// Observations of which there were too many.
    private(set) var leftOutCount = 0

    private let codec: MediaCodec
    private var size: (width: Int, height: Int)?
    private var run = QuietRun()
    private var lastSound: [UInt8] = []

    /// An Opus encoder codes digital silence in 3 bytes, and with discontinuous transmission in less; where it is set
    /// to correct losses, in some more that are the same in each packet.
    private static let largestSilentOpus = 8

    init(codec: MediaCodec) {
        self.codec = codec
    }

    /// All quiet stretches, the one in which the track ends included.
    var allQuietStretches: [QuietRun.Stretch] { self.quietStretches + (self.run.open.map { [$0] } ?? []) }

    /// Takes the next unit, at its time in the export, and what was found in it.
    mutating func note(_ payload: [UInt8], isKeyframe: Bool, at nanoseconds: Int64) {
        if self.codec.kind == .video, isKeyframe { self.noteSize(payload, at: nanoseconds) }
        let isQuiet = self.isQuiet(payload, isKeyframe)
        if self.codec == .opus { self.lastSound = payload }
        guard let stretch = self.run.note(isQuiet: isQuiet, at: nanoseconds) else { return }
        if self.quietStretches.count < Self.maximumCount {
            self.quietStretches.append(stretch)
        } else {
            self.leftOutCount += 1
        }
    }

    private mutating func noteSize(_ payload: [UInt8], at nanoseconds: Int64) {
        let found = payload.withUnsafeBytes { Bitstream.inspect(self.codec, $0, framing: .lengthPrefixed) }
        guard let width = found?.width, let height = found?.height else { return }
        if let size = self.size, size != (width, height) {
            if self.resizes.count < Self.maximumCount {
                self.resizes.append(
                    Resize(
                        nanoseconds: nanoseconds,
                        before: "\(size.width)×\(size.height)",
                        after: "\(width)×\(height)"
                    )
                )
            } else {
                self.leftOutCount += 1
            }
        }
        self.size = (width, height)
    }

    /// Whether a unit is as small as one of silence or of unchanged video.
    private func isQuiet(_ payload: [UInt8], _ isKeyframe: Bool) -> Bool {
        switch self.codec {
        case .opus: return payload.count <= Self.largestSilentOpus || payload == self.lastSound
        case .pcmu, .pcma: return payload.first.map { first in payload.allSatisfy { $0 == first } } ?? true
        case .vp8, .vp9, .h264:
            let pixels = self.size.map { $0.width * $0.height } ?? 0
            // Chromium codes a switched-off camera as black frames: 146 bytes of VP8 at 640×360.
            return payload.count <= (isKeyframe ? max(256, pixels / 256) : max(64, pixels / 1_024))
        }
    }
}
