// SPDX-License-Identifier: Apache-2.0

public import Basics
public import GStreamer

/// How an output is at present.
public struct RTPOutputStatus: Sendable, Hashable {
    /// What it does.
    public enum State: String, Sendable, Hashable, CaseIterable {
        /// Nobody is there whom it could send.
        case idle
        /// Packets are sent.
        case sending
        /// They do not get away, or nobody listens.
        case failing
    }

    /// One stream.
    public struct Stream: Sendable, Hashable {
        /// Codec of the track that is sent.
        public var codec: MediaCodec
        /// Where RTP goes; RTCP goes to the next port.
        public var port: UInt16
        /// Our own RTP port.
        public var sourcePort: UInt16
        /// RTP payload type.
        public var payloadType: UInt8
        /// Synchronisation source.
        public var ssrc: UInt32
        /// What it has counted.
        public var counters: RTPStreamCounters
        /// Whether nothing comes while the participant's other stream goes on.
        var isSilent = false
        /// The value of `sprop-parameter-sets` (RFC 6184 section 8.1); nil for none.
        var statedSets: String?
    }

    /// One participant's streams.
    public struct Session: Sendable, Hashable {
        /// The participant's id in the room.
        public var participant: String
        /// The session description, without keys.
        public var description: String
        /// Pictures, then sound.
        public var streams: [Stream]
    }

    /// What it is called, such as `rtp://192.0.2.7:5004`.
    public var name: String
    /// What it does.
    public var state: State
    /// Why it is failing, for people.
    public var reason: String?
    /// The participants that are sent.
    public var sessions: [Session]
    /// What has been sent since it began, ended streams included.
    public var total: RTPStreamCounters
}

/// What happened to an output, by its name.
public enum RTPOutputEvent: Sendable, Hashable {
    /// What is sent does not get away, or nobody listens; `reason` is for people.
    case failed(output: String, reason: String)
    /// It works again.
    case recovered(output: String)
}
