// SPDX-License-Identifier: Apache-2.0

public import Basics
internal import Matroska

/// One received unit: a frame, an access unit, or an audio packet; its bytes are passed separately.
public struct ReceivedUnit: Sendable, Hashable {
    /// The track's number, as given to the session in `trackAppeared`.
    public var track: UInt64
    /// Unwrapped RTP time stamp, in units of the track's RTP clock.
    public var rtpTime: Int64
    /// `CLOCK_MONOTONIC` when the unit's first packet came.
    public var arrivalNanoseconds: Int64
    /// RTP packets missing since the unit before.
    public var lostPackets: Int
    /// Whether packets of the unit itself are missing, so that its bytes are a part of it.
    public var isTruncated: Bool
    /// RTP packets that it came in.
    public var packets: Int
    /// How its frame is turned; nil if its sender never said.
    public var rotation: VideoRotation?

    /// A unit with each part given.
    public init(
        track: UInt64,
        rtpTime: Int64,
        arrivalNanoseconds: Int64,
        lostPackets: Int = 0,
        isTruncated: Bool = false,
        packets: Int = 1,
        rotation: VideoRotation? = nil
    ) {
        self.track = track
        self.rtpTime = rtpTime
        self.arrivalNanoseconds = arrivalNanoseconds
        self.lostPackets = lostPackets
        self.isTruncated = isTruncated
        self.packets = packets
        self.rotation = rotation
    }
}

/// One RTCP sender report that came (RFC 3550 section 6.4.1).
public struct ReceivedReport: Sendable, Hashable {
    /// The peer connection that saw it.
    public var connection: UInt64
    /// SSRC of the sender.
    public var ssrc: UInt32
    /// RTP time stamp as sent, 32 bits.
    public var rtpTimestamp: UInt32
    /// NTP time stamp, 32.32 fixed point.
    public var ntpTime: UInt64
    /// `CLOCK_MONOTONIC` when the report came.
    public var arrivalNanoseconds: Int64

    /// A report with each part given.
    public init(connection: UInt64, ssrc: UInt32, rtpTimestamp: UInt32, ntpTime: UInt64, arrivalNanoseconds: Int64) {
        self.connection = connection
        self.ssrc = ssrc
        self.rtpTimestamp = rtpTimestamp
        self.ntpTime = ntpTime
        self.arrivalNanoseconds = arrivalNanoseconds
    }
}

/// A unit on its way into a file, with the result of the one inspection of its bytes.
struct InspectedUnit {
    let unit: ReceivedUnit
    /// Valid for as long as the call in which the unit came.
    let bytes: UnsafeRawBufferPointer
    /// nil if the bytes are no unit of the track's codec.
    let inspection: UnitInspection?
    /// The parameter sets of H.264 that its sender has sent so far, its own among them.
    let sets: H264KnownSets

    /// Whether a decoder can begin with it, as far as its bytes tell that.
    var isKeyframe: Bool { self.inspection?.isKeyframe == true }

    /// Whether the parameter sets that it uses are known, if it is a keyframe of H.264; true for other codecs.
    func knowsSets(_ codec: MediaCodec) -> Bool {
        codec != .h264 || self.inspection.map { self.sets.needed(pictureSetID: $0.pictureSetID) != nil } ?? false
    }
}
