// SPDX-License-Identifier: Apache-2.0

/// The keys of log metadata; no other spelling is used anywhere.
///
/// Dotted, `subject.property`. Use as `.tagged([.roomID: "…"])`, and as `logger[key: .roomID]` for every line of a logger.
public enum LogKey: String, Sendable, CaseIterable {
    /// One stay in one room, from joining to leaving; on every line about it.
    case sessionID = "session.id"
    /// The room's name in the configuration.
    case roomName = "room.name"
    /// The name under which we appear, where it is not the usual one.
    case recorderName = "recorder.name"
    /// The room's name on its server.
    case roomID = "room.id"
    /// A member of the room.
    case peerID = "peer.id"
    /// A peer connection, by its number in the session.
    case connectionID = "connection.id"
    /// A recording's id.
    case recordingID = "recording.id"
    /// A worker process, by its number in the daemon's life.
    case workerID = "worker.id"
    /// The kind of an event, as in the event stream.
    case eventKind = "event.kind"
    /// The folder of a recording.
    case recordingPath = "recording.path"
    /// RTP encoding name of a track.
    case trackCodec = "track.codec"
    /// Our end of the way that media take: kind, address, port and transport.
    case pathLocal = "path.local"
    /// The peer's end.
    case pathRemote = "path.remote"
    /// The TURN server that lends us our end; missing if none does.
    case pathRelay = "path.relay"
    /// SSRC of a track.
    case trackSSRC = "track.ssrc"
    /// A received track.
    case trackID = "track.id"
    /// The signalling protocol's name.
    case signallingProtocol = "signalling.protocol"
    /// Name and port of a server.
    case serverAddress = "server.address"
    /// The attempt's number, from 1.
    case attemptNumber = "attempt.number"
    /// Milliseconds until the next attempt.
    case attemptDelay = "attempt.delay_ms"
    /// The element's name.
    case elementName = "element.name"
    /// The code of an error.
    case errorCode = "error.code"
    /// An error's sentence.
    case errorMessage = "error.message"
    /// The method of an HTTP request.
    case httpMethod = "http.method"
    /// The path of an HTTP request; from outside, shortened.
    case httpTarget = "http.target"
    /// The status of an HTTP answer.
    case httpStatus = "http.status"
    /// Scheme, host and port of a webhook's receiver.
    case webhookTarget = "webhook.target"
    /// A webhook delivery, the same in every attempt.
    case deliveryID = "delivery.id"
    /// The address of a client.
    case clientAddress = "client.address"
    /// The ignored text or the reason; text from outside, shortened.
    case detail = "detail"
}
