// SPDX-License-Identifier: Apache-2.0

import Matroska
import Storage
import Timeline

/// The units of a track file that refer to frames missing from it, as the journal names them.
struct DamagedSpans {
    private struct Span {
        var start: Int64
        /// The first unit after a loss; `nil` if nothing was lost: the file before has what the units refer to.
        var loss: Int64?
        /// The first unit that can be decoded again; `nil` if none came.
        var end: Int64?
    }

    private var spans: [Span] = []
    /// The span in which or before which the units are that are asked for next.
    private var index = 0
    /// Whether the unit that was asked for last is in that span: of H.264 the next one may be shown before it.
    private var isInside = false
    /// Times in files are rounded, and a unit may lie this many ticks before its time in the journal.
    private let tolerance: Int64

    /// The most spans of a track that are known; of what comes later every unit counts as whole.
    private let maximumCount: Int

    /// No damage yet; `clockRateHz` is that of the track's RTP clock.
    init(clockRateHz: Int = 90_000, maximumCount: Int = JournalFacts.maximumDamage) {
        self.maximumCount = maximumCount
        self.tolerance = RTPClock(rateHz: clockRateHz).ticks(
            nanoseconds: Int64(TrackDescription.timestampScaleNanoseconds)
        )
    }

    /// Units from this RTP time on cannot be decoded; without lost packets, by this file alone.
    mutating func damaged(at rtpTime: Int64, lostPackets: UInt64) {
        let loss = lostPackets > 0 ? rtpTime : nil
        if self.isOpen {
            let last = self.spans.count - 1
            self.spans[last].loss = self.spans[last].loss ?? loss
        } else if self.spans.count < self.maximumCount {
            self.spans.append(Span(start: rtpTime, loss: loss))
        }
    }

    /// Units from this RTP time on can be decoded again.
    mutating func mended(at rtpTime: Int64) {
        guard self.isOpen else { return }
        self.spans[self.spans.count - 1].end = rtpTime
    }

    /// Whether the last unit cannot be decoded.
    var isOpen: Bool {
        guard let last = self.spans.last else { return false }
        return last.end == nil
    }

    /// The file continues another one, whose last unit can be decoded: units that refer to it can be decoded as well.
    mutating func goOn() {
        self.spans = self.spans.compactMap { span in
            guard let loss = span.loss else { return nil }
            return Span(start: loss, loss: loss, end: span.end)
        }
    }

    /// The file is read from its beginning again.
    mutating func rewind() {
        (self.index, self.isInside) = (0, false)
    }

    /// Whether the unit of that RTP time cannot be decoded; asked for in the order of the file.
    mutating func contains(_ rtpTime: Int64) -> Bool {
        while self.index < self.spans.count {
            let span = self.spans[self.index]
            guard self.isInside || rtpTime &+ self.tolerance >= span.start else { return false }
            guard let end = span.end, rtpTime &+ self.tolerance >= end else {
                self.isInside = true
                return true
            }
            (self.index, self.isInside) = (self.index + 1, false)
        }
        return false
    }
}

/// Units that an export leaves out of a track.
struct LeftOutUnits {
    /// A stretch of it, on the session clock; `end` is the first unit that is there again.
    struct Stretch: Hashable {
        var start: Int64
        var end: Int64
    }

    private(set) var units: UInt64 = 0
    /// The first stretches.
    private(set) var stretches: [Stretch] = []
    private var isOpen = false

    /// A unit of that session time is left out.
    mutating func note(at nanoseconds: Int64) {
        self.units += 1
        if self.isOpen {
            if let last = self.stretches.indices.last {
                self.stretches[last].end = max(self.stretches[last].end, nanoseconds)
            }
        } else if self.stretches.count < TrackObservations.maximumCount {
            self.isOpen = true
            self.stretches.append(Stretch(start: nanoseconds, end: nanoseconds))
        }
    }

    /// The next unit that is there has that session time.
    mutating func end(at nanoseconds: Int64) {
        guard self.isOpen else { return }
        self.isOpen = false
        if let last = self.stretches.indices.last { self.stretches[last].end = nanoseconds }
    }
}
