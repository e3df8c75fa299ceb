// SPDX-License-Identifier: Apache-2.0

internal import Basics
import Matroska
internal import Timeline

/// Counts what of a track was exported, and finds its gaps.
struct TrackTally {
    private(set) var units: UInt64 = 0
    private(set) var bytes: UInt64 = 0
    private(set) var keyframes: UInt64 = 0
    private(set) var firstNanoseconds: Int64 = 0
    /// The latest time of a unit.
    private(set) var lastNanoseconds: Int64 = 0
    /// End of the latest unit: by its own duration for audio, by the last frame distance for video.
    private(set) var endNanoseconds: Int64 = 0
    private(set) var gapCount = 0
    private(set) var gapNanoseconds: Int64 = 0
    private(set) var gaps: [ExportReport.Gap] = []

    /// The files that the units are of, by their places among those of the track, and from when to when each goes.
    private(set) var stretches: [(file: Int, start: Int64, end: Int64)] = []

    private(set) var observations: TrackObservations

    private let codec: MediaCodec
    /// How many packets of the track are in no file; `nil` if unknown.
    private let missingPackets: UInt64?
    private var lastDuration: Int64 = 0
    private var longestDuration: Int64 = 0
    private var isSilenceAnnounced = false
    /// The latest unit's time in its file.
    private var lastFileNanoseconds: Int64 = 0

    /// An audio pause of less than two packets of 20 ms is jitter of clocks, not a gap.
    private static let shortestAudioGap: Int64 = 40_000_000
    /// Video that is frozen for longer is a gap: most senders refresh screens faster, and none says that nothing
    /// changed.
    private static let shortestVideoGap: Int64 = 1_000_000_000
    /// With discontinuous transmission Opus sends a packet of at most 2 bytes, or not even that, and then nothing for up to
    /// 400 ms (RFC 6716, 2.1.9).
    private static let longestSilence: Int64 = 500_000_000

    init(codec: MediaCodec, missingPackets: UInt64? = nil) {
        self.codec = codec
        self.missingPackets = missingPackets
        self.observations = TrackObservations(codec: codec)
    }

    /// Whether its units may be shown in another order than they are sent.
    var mayReorder: Bool { self.codec.mayReorder }

    /// Takes the next unit, at its time in the export.
    ///
    /// - Parameter file: the place of its file among those of the track.
    mutating func note(_ block: Block, at nanoseconds: Int64, file: Int = 0) {
        let isFirst = self.stretches.last?.file != file
        if self.units == 0 {
            self.firstNanoseconds = nanoseconds
        } else {
            let elapsed = isFirst ? 0 : block.timeNanoseconds &- self.lastFileNanoseconds
            self.noteGap(until: nanoseconds, elapsedInFile: elapsed)
        }
        self.lastFileNanoseconds = block.timeNanoseconds
        let duration: Int64
        switch self.codec.kind {
        case .audio:
            duration = block.payload.withUnsafeBytes { Bitstream.inspect(self.codec, $0)?.durationNanoseconds } ?? 0
            self.isSilenceAnnounced = self.codec == .opus && block.payload.count <= 2
        case .video:
            // If a frame is sent before others that are shown earlier, the nearest of those counts.
            let distance = isFirst ? 0 : Int64(clamping: (nanoseconds &- self.lastNanoseconds).magnitude)
            let isLatest = nanoseconds >= self.lastNanoseconds
            duration = distance > Self.shortestVideoGap ? 0 : isLatest ? distance : min(distance, self.lastDuration)
        }
        self.observations.note(block.payload, isKeyframe: block.isKeyframe, at: nanoseconds)
        self.units += 1
        self.bytes += UInt64(block.payload.count)
        self.keyframes += block.isKeyframe ? 1 : 0
        self.lastNanoseconds = self.units == 1 ? nanoseconds : max(self.lastNanoseconds, nanoseconds)
        self.lastDuration = duration
        self.longestDuration = max(self.longestDuration, duration)
        self.endNanoseconds = self.lastNanoseconds + duration
        if isFirst { self.stretches.append((file, nanoseconds, self.endNanoseconds)) }
        self.stretches[self.stretches.count - 1].end = self.endNanoseconds
    }

    private mutating func noteGap(until nanoseconds: Int64, elapsedInFile: Int64) {
        let start = self.codec.kind == .audio ? self.endNanoseconds : self.lastNanoseconds
        let length = nanoseconds - start
        let shortest =
            switch self.codec.kind {
            case .audio:
                self.isSilenceAnnounced || self.isSilence(length, elapsedInFile: elapsedInFile)
                    ? Self.longestSilence : Self.shortestAudioGap
            case .video: Self.shortestVideoGap
            }
        guard length > shortest else { return }
        self.gapCount += 1
        self.gapNanoseconds += length
        if self.gaps.count < ExportReport.Track.maximumListedGaps {
            self.gaps.append(ExportReport.Gap(startNanoseconds: start, durationNanoseconds: length))
        }
    }

    /// Whether a sender of Opus sent nothing on purpose: its clock continues, and no packet is missing (RFC 7587, 3.1.3).
    ///
    /// A length that the missing packets could have held may be a loss. A clock that stood still is a microphone that did.
    private func isSilence(_ length: Int64, elapsedInFile: Int64) -> Bool {
        guard self.codec == .opus, let missing = self.missingPackets else { return false }
        let (held, isMore) = Int64(clamping: missing).multipliedReportingOverflow(by: self.longestDuration)
        return !isMore && length - held > Self.shortestAudioGap && elapsedInFile > length
    }
}
