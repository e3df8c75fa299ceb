// SPDX-License-Identifier: Apache-2.0

internal import Codecs
internal import Matroska
internal import Storage

/// A track that is received at present, and the file that it goes to.
///
/// Its session's alone.
final class OpenTrack {
    /// What its units are told by.
    let id: UInt64
    let received: ReceivedTrack
    private let source: any PacketSource
    private var allKeyframeRequests: UInt64 = 0
    var keyframes: KeyframePolicy
    /// The file; nil while nothing of the track is recorded.
    var writer: TrackFileWriter?
    /// The recording that the file is in.
    var recording: RecordingID?
    /// Which units of the file cannot be decoded.
    var damage = TrackDamage()
    /// What of that is journalled.
    var damageLines = DamageLines()
    /// After a failed write or synchronisation: when to go on in a new file, on the clock of arrivals.
    var resumesAt: Int64?
    /// Files that the disk may have lost units of.
    var failures = FailurePause()
    /// How often its clock may start anew.
    var restarts = RestartLimit()
    /// Its file, or the next one, is among those that its participant may begin.
    var isAdmitted = false
    /// A write failed, and none has succeeded since.
    var hasFailed = false
    /// Units were left out: pictures go on with a keyframe.
    var awaitsKeyframe = false
    /// The newest sender report; a file that begins later begins with it.
    var lastReport: ReceivedReport?
    var firstUnitDelay: Duration?
    /// What had been counted when the file was begun; nothing for the first.
    var countedBefore = PacketCounters()
    /// How many PLIs had been sent when the file before ended.
    private var requestedBefore: UInt64 = 0
    /// How many units it has.
    var rate: UnitRate
    /// The newest keyframe, kept while somebody wants stills.
    var lastKeyframe: [UInt8]?

    init(_ id: UInt64, _ received: ReceivedTrack, source: any PacketSource, now: Int64) {
        self.id = id
        self.received = received
        self.source = source
        self.rate = UnitRate(at: now, source.counters)
        self.keyframes = KeyframePolicy(trackAppearedAt: UInt64(clamping: now))
    }

    var isVideo: Bool { self.received.isVideo }

    /// Whether a decoder can begin with a unit of pictures, and knows by it all that it has to.
    func isWholeKeyframe(_ unit: InspectedUnit) -> Bool {
        guard self.isVideo, !unit.unit.isTruncated, unit.isKeyframe else { return false }
        // The depayloaders of VP8 and VP9 give out a picture only if they have its beginning. That of H.264 does not look,
        // but what is lost at the beginning of a keyframe are its parameter sets.
        return self.received.codec != .h264 || unit.unit.lostPackets == 0 || unit.inspection?.parameterSets != nil
    }

    /// Another PLI is sent.
    func noteKeyframeRequest() {
        self.allKeyframeRequests += 1
    }

    /// PLIs that were sent for the present file, and before it since the one before.
    var keyframeRequests: UInt64 { self.allKeyframeRequests - self.requestedBefore }

    /// The file ended: what is counted from now on is of the next one.
    func noteEndOfFile() {
        self.countedBefore = self.counters
        self.requestedBefore = self.allKeyframeRequests
    }

    /// What was counted at the source so far.
    var counters: PacketCounters { self.source.counters }

    /// RTP packets received, lost and repaired for the present file.
    var packets: (received: UInt64, lost: Int64, repaired: UInt64) {
        let counters = self.counters
        return (
            counters.received &- min(counters.received, self.countedBefore.received),
            Int64(clamping: counters.lost) - Int64(clamping: self.countedBefore.lost),
            counters.repaired &- min(counters.repaired, self.countedBefore.repaired)
        )
    }

    /// What a new file of the track says about it.
    func description(number: Int, name: String?) -> TrackDescription {
        TrackDescription(
            number: number,
            participant: self.received.participant,
            participantName: name,
            codec: self.received.codec,
            clockRateHz: self.received.clockRateHz,
            channels: self.received.channels,
            ssrc: self.received.ssrc,
            payloadType: self.received.payloadType,
            mid: self.received.mid,
            connection: self.received.connection
        )
    }
}
