// SPDX-License-Identifier: Apache-2.0

internal import Basics
internal import Export
internal import GStreamer
internal import Matroska
public import Storage

/// The part of a test camera's pattern that one participant of a recording sent: counters in video, beeps in audio.
///
/// Times are those of exports, in nanoseconds from the beginning of the recording.
public struct TestSending: Sendable, Hashable {
    /// A decoded frame.
    public struct Frame: Sendable, Hashable {
        /// When it is shown in an export.
        public var nanoseconds: Int64
        /// `CLOCK_MONOTONIC` when it was in its file; `nil` if that was not noted.
        public var writtenNanoseconds: Int64?
        /// The frame counter; `nil` if it cannot be read.
        public var counter: Int?
        /// Whether it flashes.
        public var hasFlash: Bool
    }

    /// A frame that the recorder wrote, as it noted it.
    public typealias Note = (track: Int, rtpTime: Int64, nanoseconds: Int64)

    /// The participant's id.
    public var participant: String
    /// In order.
    public var frames: [Frame] = []
    /// When beeps start.
    public var beeps: [Int64] = []

    /// Audio is decoded in stretches of this many frames.
    private static let stretch: Int64 = 4800
    /// File times are tenths of milliseconds, which is why frames are not found by their times to the nanosecond.
    private static let tolerance: Int64 = 1_000_000

    /// Decodes a whole recording into the pattern that each of its participants sent.
    ///
    /// Blocks for as long as decoding takes.
    /// - Parameter written: when the recorder had written each frame.
    public static func read(_ folder: RecordingFolder, written: [Note]) throws -> [TestSending] {
        try Runtime.initialise()
        let input = try RenderInput(folder: folder)
        var found: [TestSending] = []
        for track in input.tracks {
            if !found.contains(where: { $0.participant == track.participant }) {
                found.append(TestSending(participant: track.participant))
            }
            guard let index = found.firstIndex(where: { $0.participant == track.participant }) else { continue }
            if track.codec.kind == .video {
                found[index].frames += try Self.frames(track, written)
            } else {
                found[index].beeps += try Self.beeps(track)
            }
        }
        for index in found.indices {
            found[index].frames.sort { $0.nanoseconds < $1.nanoseconds }
            found[index].beeps.sort()
        }
        return found
    }

    private static func frames(_ track: RenderTrack, _ written: [Note]) throws -> [Frame] {
        var notes = written.filter { $0.track == track.number }.compactMap { note in
            track.nanoseconds(ofRTPTime: note.rtpTime).map { (time: $0, written: note.nanoseconds) }
        }[...]
        let video = try DecodedVideo(track)
        var found: [Frame] = []
        while let frame = video.next() {
            let (sample, nanoseconds) = (frame.sample, frame.nanoseconds)
            while let note = notes.first, note.time < nanoseconds - Self.tolerance { notes.removeFirst() }
            let note = notes.first.flatMap { $0.time <= nanoseconds + Self.tolerance ? $0.written : nil }
            let test = sample.testPicture
            found.append(
                Frame(
                    nanoseconds: nanoseconds,
                    writtenNanoseconds: note,
                    counter: test?.counter,
                    hasFlash: test?.hasFlash ?? false
                )
            )
        }
        return found
    }

    private static func beeps(_ track: RenderTrack) throws -> [Int64] {
        let audio = try DecodedAudio(track, participant: 0)
        var finder = BeepFinder()
        for first in stride(from: 0, to: track.endNanoseconds * 48 / 1_000_000, by: Int(Self.stretch)) {
            var samples = [Float](repeating: 0, count: 2 * Int(Self.stretch))
            _ = audio.mix(into: &samples, from: Int64(first))
            finder.take(samples, from: Int64(first) * 1_000_000 / 48)
        }
        return finder.beeps
    }
}
