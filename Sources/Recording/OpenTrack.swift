// SPDX-License-Identifier: Apache-2.0

internal import Basics
internal import Matroska
internal import Storage
internal import Timeline

/// A track that is received at present, and the file that it goes to.
///
/// Its session's alone.
final class OpenTrack {
    /// The number that its units carry.
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
    /// The damage that is journalled.
    var damageLines = DamageLines()
    /// When the track continues in a new file, on the clock of arrivals, and why not earlier: a failed write or
    /// synchronisation, too many files, or an RTP clock that restarts too often.
    private(set) var resumesAt: Int64?
    private(set) var pauseReason = RefusalReason.disk
    /// Files that the disk may have lost units of.
    var failures = FailurePause()
    /// When it sent, as other sources of its sender did.
    var turns = SourceTurns()
    /// How often its clock may restart.
    var restarts = RestartLimit()
    /// Its file, or the next one, is among those that its participant may begin.
    var isAdmitted = false
    /// A write failed, and none has succeeded since.
    var hasFailed = false
    /// Units were left out: video continues with a keyframe.
    var awaitsKeyframe = false
    /// The newest sender report; a file that begins later begins with it.
    var lastReport: ReceivedReport?
    var firstUnitDelay: Duration?
    /// Counters when the file was begun; zero for the first file.
    var countedBefore = PacketCounters()
    /// How many PLIs had been sent when the file before ended.
    private var requestedBefore: UInt64 = 0
    /// How many units it has.
    var rate: UnitRate
    /// The newest keyframe, kept while stills are wanted.
    var lastKeyframe: CodedStill?
    /// The parameter sets of H.264 that its sender has sent, or its description stated.
    private(set) var sets = H264KnownSets()
    /// Keyframes of H.264 came whole and without parameter sets: the sender sends these elsewhere.
    private var sendsBareKeyframes = false
    /// When it came, and its first unit.
    private let appearedAt: Int64
    private var firstUnitAt: Int64?
    /// Packets of all units that the session got.
    private var taken: UInt64 = 0
    /// Packets of those that came while nothing was recorded, or that are in recordings that are over.
    private var elsewhere: UInt64 = 0
    /// The fate of the rest, in the present recording and in the segment before it.
    private var share = TrackShare()
    private var olderShare: TrackShare?
    /// Outcomes when the present recording began.
    private var outcomesBefore = PacketOutcomes()

    init(_ id: UInt64, _ received: ReceivedTrack, source: any PacketSource, now: Int64) {
        self.id = id
        self.received = received
        self.source = source
        self.appearedAt = now
        self.rate = UnitRate(at: now, source.counters)
        self.keyframes = KeyframePolicy(trackAppearedAt: UInt64(clamping: now))
        if let sets = received.parameterSets { self.sets.note(sets) }
    }

    var isVideo: Bool { self.received.isVideo }

    /// Whether a decoder can begin with a unit of video, because the unit contains everything the decoder needs.
    func isWholeKeyframe(_ unit: InspectedUnit) -> Bool {
        guard self.isVideo, !unit.unit.isTruncated, unit.isKeyframe else { return false }
        // The depayloaders of VP8 and VP9 give out a frame only if they have its beginning.
        guard self.received.codec == .h264, let inspection = unit.inspection else { return true }
        guard !inspection.isHeadless, unit.knowsSets(.h264) else { return false }
        // New parameter sets may have been lost in front of it.
        return unit.unit.lostPackets == 0 || inspection.parameterSets != nil || self.sendsBareKeyframes
    }

    /// Keeps what a unit says about those after it, whether it is recorded or not.
    func learn(_ inspection: UnitInspection?, lostPackets: Int) {
        guard self.received.codec == .h264, let inspection else { return }
        if let sets = inspection.parameterSets {
            self.sets.note(sets)
        } else if inspection.isKeyframe, !inspection.isHeadless, lostPackets == 0 {
            self.sendsBareKeyframes = true
        }
    }

    /// A keyframe with all that a decoder needs to show it.
    func still(of unit: InspectedUnit) -> CodedStill {
        CodedStill(
            codec: self.received.codec,
            bytes: self.bytes(ofStill: unit),
            rotation: unit.unit.rotation ?? .upright
        )
    }

    private func bytes(ofStill unit: InspectedUnit) -> [UInt8] {
        guard self.received.codec == .h264, let inspection = unit.inspection, inspection.parameterSets == nil,
            let sets = unit.sets.needed(pictureSetID: inspection.pictureSetID)
        else { return Array(unit.bytes) }
        return (sets.sequence + sets.picture).flatMap { [0, 0, 0, 1] + $0 } + Array(unit.bytes)
    }

    /// Nothing of the track is recorded before an instant.
    func pause(until instant: Int64, for reason: RefusalReason) {
        self.resumesAt = instant
        self.pauseReason = reason
    }

    /// The pause is over.
    func resume() {
        self.resumesAt = nil
    }

    // MARK: Fates of its packets

    /// The session got a unit.
    func noteTaken(_ packets: Int, at now: Int64) {
        self.firstUnitAt = self.firstUnitAt ?? now
        self.taken &+= UInt64(clamping: packets)
    }

    /// A unit came while nothing was recorded.
    func noteElsewhere(_ packets: Int) {
        self.elsewhere &+= UInt64(clamping: packets)
    }

    /// A unit that came while nothing was recorded becomes part of a recording after all.
    func takeBack(_ packets: Int) {
        self.elsewhere &-= min(self.elsewhere, UInt64(clamping: packets))
    }

    /// A unit is in a file, or goes into it with the next one.
    func noteRecorded(_ packets: Int, in file: Int, ofOlder: Bool) {
        if ofOlder, self.olderShare != nil {
            self.olderShare?.account.recorded(packets, in: file)
        } else {
            self.share.account.recorded(packets, in: file)
        }
    }

    /// A unit is in no file of the present recording.
    func noteRefused(_ packets: Int, _ reason: RefusalReason, at now: Int64) {
        self.share.account.refused(packets, reason, at: now)
    }

    /// Another recording begins, as the next segment of the present one or after it.
    func recordingBegins(asSegment: Bool) {
        let outcomes = self.counters.outcomes
        if asSegment {
            self.share.outcomes = outcomes.settled(since: self.outcomesBefore)
            self.olderShare = self.share
        } else {
            self.elsewhere &+= self.share.account.noted
        }
        self.share = TrackShare()
        self.outcomesBefore = outcomes
    }

    /// The segment before the present one is over.
    func olderEnds() {
        self.elsewhere &+= self.olderShare?.account.noted ?? 0
        self.olderShare = nil
    }

    /// Its part of the account of its source, in the present recording or in the segment before it.
    func ledgerPart(ofOlder: Bool, at now: Int64) -> SourceLedger.Part {
        let counters = self.counters
        var (share, other) = (self.share, self.olderShare ?? TrackShare())
        share.outcomes = counters.outcomes.settled(since: self.outcomesBefore)
        // A track that came after the cut has nothing in the segment before it.
        if ofOlder { (share, other) = (other, share) }
        return SourceLedger.Part(
            isVideo: self.isVideo,
            counters: counters,
            taken: self.taken,
            elsewhere: self.elsewhere &+ other.account.noted,
            share: share,
            waitNanoseconds: max(0, (self.firstUnitAt ?? now) &- self.appearedAt)
        )
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

    /// Counters of the source so far.
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

    /// Description of the track for its new file.
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
            layer: self.received.layer,
            connection: self.received.connection
        )
    }
}
