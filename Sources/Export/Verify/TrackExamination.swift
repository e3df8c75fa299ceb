// SPDX-License-Identifier: Apache-2.0

internal import Basics
import Matroska
import Storage
import Timeline

/// One track file: what it holds, its hash, and what is wrong with it.
///
/// Reads it from beginning to end, if that was not done just now.
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
        /// What was gathered while the file was read before.
        let reading: TrackReading?
    }

    private let file: String

    /// A path's delay, and what a congested one adds.
    private static let greatestLateness: UInt64 = 2_000_000_000
    /// Below this span noise outweighs the skew.
    private static let shortestSkewSpan: Int64 = 10_000_000_000
    /// A file that is longer or shorter by more than this share does not indicate a clock's skew.
    private static let greatestStretch = 0.01
    /// The last unit comes less than this behind the last anchor, give or take a queue.
    private static let anchorInterval: Int64 = 2_500_000_000

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
            let path = setting.folder.path + "/" + source.file
            let known = setting.reading.flatMap { $0.isStill(at: path) ? $0 : nil }
            let reading = try known ?? TrackReading(path, source, setting.contents)
            self.take(reading, source, setting)
            if let earlier = setting.earlier, earlier.bytes != reading.bytes {
                self.note(changedSize: reading.bytes, earlier)
            } else if reading.isHashed, let sha256 = try reading.sha256() {
                self.digest = .init(name: source.file, bytes: reading.bytes, sha256: sha256)
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

    /// Notes what reading the file showed.
    private mutating func take(_ reading: TrackReading, _ source: TrackSource, _ setting: Setting) {
        let (codec, tally) = (source.track.codec, reading.tally)
        self.track.units = tally.units
        self.track.keyframes = tally.keyframes
        self.track.bytes = tally.bytes
        self.track.startNanoseconds = tally.firstNanoseconds
        self.track.durationNanoseconds = tally.endNanoseconds &- tally.firstNanoseconds
        self.track.leftOut = reading.leftOut
        self.track.gaps = reading.gaps
        self.endNanoseconds = tally.endNanoseconds
        self.place(source, lastNanoseconds: max(0, reading.lastNanoseconds), setting)
        if reading.stepsBack > 0 {
            self.note(.damage, .fileTorn, "its times step back at \(reading.stepsBack) of its units")
        }
        if reading.sealed.count > 0 {
            let which = "\(reading.sealed.count) of its \(tally.units) units"
            self.note(
                .gap,
                .payloadUndecodable,
                "\(which) are encrypted end to end: nothing plays them without the key"
            )
        } else if reading.undecodable > 0 {
            let which = "\(reading.undecodable) of its \(tally.units) units"
            self.note(.gap, .payloadUndecodable, "\(which) cannot be decoded: their payload is encrypted or broken")
        }
        if reading.strangers > 0 {
            self.note(.damage, .fileUnreadable, "\(reading.strangers) of its units are none of \(codec.rawValue)")
        }
        for text in reading.damage { self.note(.damage, .fileTorn, text) }
        if let torn = reading.tornTailOffset, torn < source.size {
            let text = "from byte \(torn) of \(source.size) on it makes no sense"
            let isClosed = source.number.flatMap { setting.contents.history.closed[$0] } != nil
            if isClosed || source.number == nil {
                self.note(.damage, .fileTorn, text)
            } else if !setting.isRunning {
                self.note(.gap, .fileTorn, text + ", as a crash leaves it")
            }
        }
    }

    /// Notes how the clock map placed the track.
    private mutating func place(_ source: TrackSource, lastNanoseconds: Int64, _ setting: Setting) {
        guard let number = source.number, self.track.units > 0 else { return }
        self.track.basis = source.basis
        let opened = setting.contents.history.tracks.first { $0.record.track == number }
        let (first, last) = (source.sessionTime(0), source.sessionTime(lastNanoseconds))
        if let opened { self.track.correctionNanoseconds = TrackReading.bounded(first &- opened.monotonicNanoseconds) }
        let rates = setting.contents.map.realRates(track: number)
        if !rates.isEmpty {
            let counts = rates.map { "\($0) Hz" }.joined(separator: ", then ")
            let described = source.opened.map { RTPClock(rateHz: $0.clockRateHz).rateHz } ?? 0
            self.note(
                .note,
                .clockRate,
                "its RTP clock counts at \(counts) instead of \(described) Hz: exports follow the clock; opened alone, the file "
                    + "lasts \(lastNanoseconds / 1_000_000) ms instead of \(TrackReading.bounded(last &- first) / 1_000_000) ms"
            )
        } else if lastNanoseconds >= Self.shortestSkewSpan {
            let stretch = TrackReading.bounded(last &- first &- lastNanoseconds)
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
                .map { TrackReading.bounded(anchor.monotonicNanoseconds &- $0) }
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
        let arrival = TrackReading.bounded(last.monotonicNanoseconds &- opened.monotonicNanoseconds)
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
}
