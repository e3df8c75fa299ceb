// SPDX-License-Identifier: Apache-2.0

public import Basics
public import GStreamer

/// How an output is at present.
public struct RTPOutputStatus: Sendable, Hashable {
    /// The state of an output.
    public enum State: String, Sendable, Hashable, CaseIterable {
        /// There is no participant to send.
        case idle
        /// Packets are sent.
        case sending
        /// Packets cannot be sent, or there is no receiver.
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
        /// Its counters.
        public var counters: RTPStreamCounters
        /// Whether nothing comes while the participant's other stream continues.
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
        /// Video, then audio.
        public var streams: [Stream]
    }

    /// Its name, such as `rtp://192.0.2.7:5004`.
    public var name: String
    /// Its state.
    public var state: State
    /// The human-readable reason why it is failing.
    public var reason: String?
    /// The participants that are sent.
    public var sessions: [Session]
    /// Counters since it began, ended streams included.
    public var total: RTPStreamCounters
}

/// An event of an output, by its name.
public enum RTPOutputEvent: Sendable, Hashable {
    /// Packets cannot be sent, or there is no receiver; `reason` is human-readable.
    case failed(output: String, reason: String)
    /// It works again.
    case recovered(output: String)
}
