// SPDX-License-Identifier: Apache-2.0

internal import Basics
import Matroska
import Storage
import Timeline

/// Reads one track file from beginning to end: what it holds, its hash, and what is wrong with it.
struct TrackExamination {
    private(set) var track: Certificate.Track
    private(set) var digest: Certificate.FileDigest?
    private(set) var findings: [Certificate.Finding] = []
    /// Its end, in nanoseconds from the recording's first unit.
    private(set) var endNanoseconds: Int64 = 0

    /// Facts about a recording that the examination of a track needs.
    struct Setting {
        let folder: RecordingFolder
        let contents: RecordingContents
        /// Whether a process still records.
        let isRunning: Bool
        /// The file's contents when its hash was taken.
        let earlier: Certificate.FileDigest?
    }

    private let file: String

    /// Times further off than this are damage; sums of them must not overflow.
    private static let greatestNanoseconds: Int64 = 1 << 60
    /// A path's delay, and what a congested one adds.
    private static let greatestLateness: UInt64 = 2_000_000_000
    /// Below this span noise outweighs the skew.
    private static let shortestSkewSpan: Int64 = 10_000_000_000
    /// A file that is longer or shorter by more than this share does not indicate a clock's skew.
    private static let greatestStretch = 0.01
    /// The last unit comes less than this behind the last anchor, give or take a queue.
    private static let anchorInterval: Int64 = 2_500_000_000
    /// Bytes behind the last that makes sense: more of them are not hashed.
    private static let longestHashedTail: UInt64 = 1 << 30
    /// Rounding of file times, in ticks of 90 kHz.
    private static let roundingTicks: Int64 = 8

    init(_ source: TrackSource, _ setting: Setting) {
        self.file = source.file
        self.track = Certificate.Track(
            number: source.number,
            file: source.file,
            participant: source.participant,
            name: source.name,
            codec: source.track.codec
        )
        do {
            let hashing = HashingFile(try File(setting.folder.path + "/" + source.file, .read))
            let torn = try self.walk(source, Reader(hashing), setting)
            if let earlier = setting.earlier, earlier.bytes != hashing.count {
                self.note(changedSize: hashing.count, earlier)
            } else if hashing.count - min(torn ?? hashing.count, hashing.count) <= Self.longestHashedTail {
                self.digest = .init(name: source.file, bytes: hashing.count, sha256: try hashing.sha256())
            }
        } catch {
            self.note(.damage, .fileUnreadable, "it cannot be read: \(error)")
        }
        self.compare(with: setting.earlier)
        self.identify(source, setting)
        self.judge(source, setting)
    }

    private mutating func note(_ severity: Certificate.Severity, _ kind: Certificate.Finding.Kind, _ text: String) {
        self.findings.append(Certificate.Finding(severity, kind, file: self.file, text))
    }

    /// A file of another size is another file, whatever it holds: a sparse one of a terabyte takes hours to read.
    private mutating func note(changedSize bytes: UInt64, _ earlier: Certificate.FileDigest) {
        self.note(.damage, .fileChanged, "it was changed: it has \(bytes) bytes instead of \(earlier.bytes)")
    }

    /// Returns the first byte that makes no sense, if there is one.
    private mutating func walk(
        _ source: TrackSource,
        _ file: consuming Reader<HashingFile>,
        _ setting: Setting
    ) throws -> UInt64? {
        var reader = file
        let codec = source.track.codec
        let zero = setting.contents.startNanoseconds
        let clock = source.opened.map { RTPClock(rateHz: $0.clockRateHz) }
        var damage = (source.number.flatMap { setting.contents.facts.damage[$0] } ?? [])[...]
        var tally = TrackTally(codec: codec, missingPackets: source.missingPackets)
        // Frames may be shown in another order than they are sent.
        let stepBack = codec.mayReorder ? TrackMerge.longestStepBackNanoseconds : 0
        var last = Int64.min + stepBack
        var (stepsBack, strangers, undecodable) = (0, 0, 0)
        var sealed = SealedUnits()
        var holes = FileHoles()
        while let block = try reader.next() {
            guard block.track == source.track.number else {
                strangers += 1
                continue
            }
            stepsBack += block.timeNanoseconds <= last - stepBack ? 1 : 0
            strangers += Self.isUnit(block.payload, codec) ? 0 : 1
            block.payload.withUnsafeBytes { sealed.note($0, codec) }
            last = max(last, block.timeNanoseconds)
            let time = Self.bounded(source.sessionTime(block.timeNanoseconds) &- zero)
            let (gaps, before) = (tally.gapCount, tally.gapNanoseconds)
            tally.note(block, at: time)
            if tally.gapCount > gaps {
                let length = tally.gapNanoseconds &- before
                self.note(gap: Certificate.Span(startNanoseconds: time &- length, durationNanoseconds: length), setting)
            }
            if codec.kind == .video, holes.areBefore(isKeyframe: block.isKeyframe, count: reader.damage.count) {
                self.track.leftOut += 1
            } else if let opened = source.opened, let clock {
                let rtpTime =
                    opened.firstRTPTime &+ clock.ticks(nanoseconds: block.timeNanoseconds) &+ Self.roundingTicks
                while let span = damage.first, span.upperBound <= rtpTime { damage = damage.dropFirst() }
                if damage.first?.contains(rtpTime) ?? false {
                    self.track.leftOut += 1
                } else if !block.payload.withUnsafeBytes({ Bitstream.mayBeDecoded(codec, $0) }) {
                    undecodable += 1
                }
            }
        }
        self.track.units = tally.units
        self.track.keyframes = tally.keyframes
        self.track.bytes = tally.bytes
        self.track.startNanoseconds = tally.firstNanoseconds
        self.track.durationNanoseconds = tally.endNanoseconds &- tally.firstNanoseconds
        self.endNanoseconds = tally.endNanoseconds
        self.place(source, lastNanoseconds: max(0, last), setting)
        if stepsBack > 0 { self.note(.damage, .fileTorn, "its times step back at \(stepsBack) of its units") }
        if sealed.count > 0 {
            let which = "\(sealed.count) of its \(tally.units) units"
            self.note(
                .gap,
                .payloadUndecodable,
                "\(which) are encrypted end to end: nothing plays them without the key"
            )
        } else if undecodable > 0 {
            let which = "\(undecodable) of its \(tally.units) units"
            self.note(.gap, .payloadUndecodable, "\(which) cannot be decoded: their payload is encrypted or broken")
        }
        if strangers > 0 {
            self.note(.damage, .fileUnreadable, "\(strangers) of its units are none of \(codec.rawValue)")
        }
        for text in reader.damage.texts { self.note(.damage, .fileTorn, text) }
        if let torn = reader.tornTailOffset, torn < source.size {
            let text = "from byte \(torn) of \(source.size) on it makes no sense"
            let isClosed = source.number.flatMap { setting.contents.history.closed[$0] } != nil
            if isClosed || source.number == nil {
                self.note(.damage, .fileTorn, text)
            } else if !setting.isRunning {
                self.note(.gap, .fileTorn, text + ", as a crash leaves it")
            }
        }
        return reader.tornTailOffset
    }

    /// A stretch in which nothing came; none when nothing was to come.
    private mutating func note(gap span: Certificate.Span, _ setting: Setting) {
        let isPause = setting.contents.history.isPause(
            from: setting.contents.startNanoseconds &+ span.startNanoseconds,
            lasting: span.durationNanoseconds,
            track: self.track.number,
            of: self.track.participant,
            self.track.media
        )
        if !isPause { self.track.gaps.note(span) }
    }

    /// Notes how the clock map placed the track.
    private mutating func place(_ source: TrackSource, lastNanoseconds: Int64, _ setting: Setting) {
        guard let number = source.number, self.track.units > 0 else { return }
        self.track.basis = source.basis
        let opened = setting.contents.history.tracks.first { $0.record.track == number }
        let (first, last) = (source.sessionTime(0), source.sessionTime(lastNanoseconds))
        if let opened { self.track.correctionNanoseconds = Self.bounded(first &- opened.monotonicNanoseconds) }
        let rates = setting.contents.map.realRates(track: number)
        if !rates.isEmpty {
            let counts = rates.map { "\($0) Hz" }.joined(separator: ", then ")
            let described = source.opened.map { RTPClock(rateHz: $0.clockRateHz).rateHz } ?? 0
            self.note(
                .note,
                .clockRate,
                "its RTP clock counts at \(counts) instead of \(described) Hz: exports follow the clock; opened alone, the file "
                    + "lasts \(lastNanoseconds / 1_000_000) ms instead of \(Self.bounded(last &- first) / 1_000_000) ms"
            )
        } else if lastNanoseconds >= Self.shortestSkewSpan {
            let stretch = Self.bounded(last &- first &- lastNanoseconds)
            let skew = Double(stretch) / Double(lastNanoseconds)
            // More is no clock: the RTP time stood still, as while the camera was off.
            if abs(skew) < Self.greatestStretch { self.track.skewPartsPerMillion = skew * 1e6 }
        }
        if let contradiction = self.contradiction(number, opened, isFollowed: !rates.isEmpty, setting) {
            let came = "its packets came over \(contradiction.arrivalNanoseconds / 1_000_000) ms"
            let lasts = "its times span \(contradiction.mediaNanoseconds / 1_000_000) ms"
            self.note(.gap, .clockContradicts, "\(came), but \(lasts): its RTP clock does not count seconds")
            if contradiction.isSteady { return }
        }
        let lateness = (setting.contents.facts.anchors[number] ?? []).compactMap { anchor in
            setting.contents.map.sessionTimeNanoseconds(track: number, rtpTime: anchor.rtpTime)
                .map { Self.bounded(anchor.monotonicNanoseconds &- $0) }
        }
        guard let least = lateness.min(by: { $0.magnitude < $1.magnitude }), least.magnitude > Self.greatestLateness
        else { return }
        let milliseconds = least.magnitude / 1_000_000
        // A sender without a processor to spare sends late what it took in time: its reports say when that was.
        if source.basis == .senderReports, least > 0, least <= RTPClockMap.greatestDisagreementNanoseconds {
            let text = "it came \(milliseconds) ms late, or later, and is placed where its sender's reports say"
            self.note(.note, .wallClock, text)
        } else {
            self.note(.damage, .wallClock, "its time is off the wall clock's by \(milliseconds) ms at its end")
        }
    }

    /// How the track's times contradict the arrivals of its units: those of the journal, or those of the file.
    ///
    /// Times of a file are too coarse for a clock that counts little more than frames.
    private func contradiction(
        _ number: Int,
        _ opened: RecordingHistory.Track?,
        isFollowed: Bool,
        _ setting: Setting
    ) -> RTPClockMap.Contradiction? {
        if let contradiction = setting.contents.map.contradiction(track: number) { return contradiction }
        guard isFollowed, let opened, let last = setting.contents.facts.anchors[number]?.last else { return nil }
        let arrival = Self.bounded(last.monotonicNanoseconds &- opened.monotonicNanoseconds)
        let difference = abs(self.track.durationNanoseconds &- arrival)
        guard difference > Self.anchorInterval, difference > arrival / 10 else { return nil }
        return .init(arrivalNanoseconds: arrival, mediaNanoseconds: self.track.durationNanoseconds, isSteady: true)
    }

    private mutating func compare(with earlier: Certificate.FileDigest?) {
        guard let earlier, let digest, digest.sha256 != earlier.sha256 else { return }
        self.note(.damage, .fileChanged, "it was changed: its SHA-256 is not that of the manifest")
    }

    /// Whether it is the file that the journal means.
    private mutating func identify(_ source: TrackSource, _ setting: Setting) {
        guard let number = source.number, let opened = source.opened else {
            self.note(.damage, .foreignFile, "the journal does not know it")
            return
        }
        if opened.codec != source.track.codec.rawValue {
            self.note(.damage, .wrongFile, "it holds \(source.track.codec.rawValue), the journal says \(opened.codec)")
        } else if source.track.uid != TrackDescription.uid(number: number, in: setting.folder) {
            self.note(.damage, .wrongFile, "it is the file of another track or recording")
        }
    }

    /// Compares the journal's record of the track with its file.
    private mutating func judge(_ source: TrackSource, _ setting: Setting) {
        guard let number = source.number else { return }
        let contents = setting.contents
        if let layer = source.opened?.layer, !layer.isBest {
            self.note(.note, .lesserLayer, "it is not the best layer that was offered: \(printableName(layer.text))")
        }
        if let closed = contents.history.closed[number] {
            let pairs = [
                ("units", self.track.units, closed.units), ("keyframes", self.track.keyframes, closed.keyframes),
                ("bytes of payload", self.track.bytes, closed.bytes),
            ]
            let wrong = pairs.filter { $0.1 != $0.2 }.map { "\($0.1) of \($0.2) \($0.0)" }
            if !wrong.isEmpty { self.note(.damage, .unitsMissing, "it has \(wrong.joined(separator: ", "))") }
            if let code = StorageError.Code(rawValue: closed.reason) {
                self.note(.gap, .diskFailed, "it ended because of its disk: \(code.rawValue)")
            }
        } else if !contents.history.isFinished, !setting.isRunning {
            self.note(.damage, .notClosed, "it is not closed: it was cut off")
        } else if !setting.isRunning {
            self.note(.gap, .cutOff, "it is not closed: the process that wrote it died")
        }
        self.track.packetsLost = contents.packets[number]?.lost
        self.track.packetsRepaired = contents.packets[number]?.repaired
        if let lost = self.track.packetsLost, lost > 0 {
            self.note(.gap, .packetsLost, "\(lost) packets never came")
        }
        if self.track.leftOut > 0 {
            self.note(.gap, .undecodable, "\(self.track.leftOut) of its units refer to frames that are not in it")
        }
        for span in self.track.gaps.first {
            let (start, length) = (span.startNanoseconds / 1_000_000, span.durationNanoseconds / 1_000_000)
            self.note(.gap, .gap, "nothing came for \(length) ms at \(start) ms")
        }
        if self.track.gaps.count > self.track.gaps.first.count {
            self.note(.gap, .gap, "\(self.track.gaps.count) gaps in all")
        }
    }

    /// Whether these bytes can be a unit of the codec.
    private static func isUnit(_ payload: [UInt8], _ codec: MediaCodec) -> Bool {
        guard codec == .h264 else { return payload.withUnsafeBytes { Bitstream.inspect(codec, $0) } != nil }
        // In Matroska files every NAL unit follows its length in four bytes (RFC 9559, codec mappings).
        var rest = payload[...]
        while rest.count >= 4 {
            let length = rest.prefix(4).reduce(0) { $0 << 8 | Int($1) }
            guard length > 0, length <= rest.count - 4 else { return false }
            rest = rest.dropFirst(4 + length)
        }
        return rest.isEmpty && !payload.isEmpty
    }

    private static func bounded(_ nanoseconds: Int64) -> Int64 {
        min(max(nanoseconds, -Self.greatestNanoseconds), Self.greatestNanoseconds)
    }
}
