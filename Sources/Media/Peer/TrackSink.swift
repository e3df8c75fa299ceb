// SPDX-License-Identifier: Apache-2.0

internal import Basics
internal import GStreamer
internal import Observability
internal import Recording
internal import SDP

/// A consumer of the received tracks of a room: the recorder, the RTP outputs.
///
/// Called on the control thread.
protocol TrackSink: Sendable {
    /// A peer connection came.
    ///
    /// - Parameter sources: what became of the packets of its sources before they reached their taps; on any thread.
    func opened(connection: UInt64, participant: String, sources: @escaping @Sendable () -> [SourceCounts])
    /// Our answer refuses audio or video that the peer of a connection would send.
    func refused(connection: UInt64, _ kind: MediaKind, reason: String)
    /// The peer of a connection may send these from now on, and no others: an offer was answered.
    func awaited(connection: UInt64, _ kinds: Set<MediaKind>)
    /// Media can come on a connection.
    func cameUp(connection: UInt64)
    /// A track came; the sink takes from the source what it needs of it, now.
    ///
    /// - Returns: what takes the units of the track, made of its packets; of all sinks of a room one at most wants them.
    func open(_ source: TrackSource) -> TrackTap?
    /// A peer connection went away, with every track of it.
    func close(connection: UInt64, reason: String)
    /// A participant left the room.
    func left(participant: String, reason: String)
    /// A participant goes by a name, one line of at most 256 bytes.
    func named(participant: String, _ name: String)
}

/// A received track where it comes in, before anything flows.
///
/// Control thread.
struct TrackSource {
    let track: ReceivedTrack
    /// When the steps to its first packet were done.
    let setup: SetupTimes
    /// Profile and level of H.264, if known.
    let profileLevelID: String?
    /// The header extension in which the sender sends the audio level (RFC 6464); nil if it does not.
    let audioLevelID: UInt8?
    /// The header extension in which the sender says how its video is turned; nil if it does not.
    let orientationID: UInt8?
    private let stream: ReceivedStream
    private let bin: WebRTCBin

    init(
        _ track: ReceivedTrack,
        _ stream: ReceivedStream,
        _ bin: WebRTCBin,
        setup: SetupTimes,
        profileLevelID: String?,
        codec: NegotiatedCodec?
    ) {
        self.track = track
        self.stream = stream
        self.bin = bin
        self.setup = setup
        self.profileLevelID = profileLevelID
        self.audioLevelID = codec?.audioLevelID
        self.orientationID = codec?.orientationID
    }

    /// Where the packets can be sent on as they come.
    func fork() -> RTPFork {
        self.bin.fork(self.stream, ssrc: self.track.ssrc, isVideo: self.track.isVideo)
    }

    /// Sends a PLI, on any thread; holds the peer connection.
    var keyframeRequest: @Sendable () -> Void {
        let target = self.bin.keyframeTarget(of: self.stream)
        return { target.requestKeyframe() }
    }
}

extension TrackSink {
    func opened(connection: UInt64, participant: String, sources: @escaping @Sendable () -> [SourceCounts]) {}
    func refused(connection: UInt64, _ kind: MediaKind, reason: String) {}
    func awaited(connection: UInt64, _ kinds: Set<MediaKind>) {}
    func cameUp(connection: UInt64) {}
}

extension RoomRecorder: TrackSink {
    func open(_ source: TrackSource) -> TrackTap? {
        self.open(
            source.track,
            setup: source.setup,
            audioLevelID: source.audioLevelID,
            orientationID: source.orientationID,
            requestKeyframe: source.keyframeRequest
        )
    }
}

extension RTPOutputs: TrackSink {
    func open(_ source: TrackSource) -> TrackTap? {
        self.add(source.track, profileLevelID: source.profileLevelID, fork: source.fork())
        return nil
    }

    func close(connection: UInt64, reason: String) {
        self.remove(connection: connection)
    }

    func left(participant: String, reason: String) {
        self.left(participant: participant)
    }
}
