// SPDX-License-Identifier: Apache-2.0

public import GStreamer
public import SDP

/// State that all peer connections of a room session share.
public struct PeerConnectionContext: Sendable {
    /// The thread for everything that may block.
    public var control: ControlThread
    /// The session's DTLS identity.
    public var certificate: Certificate
    /// The limits of negotiation.
    public var policy: NegotiationPolicy
    /// Ports, addresses, reorder buffer.
    public var settings: WebRTCSettings
    /// Running time 0 of every pipeline of the session, on the system clock.
    public var baseTimeNanoseconds: UInt64
    /// STUN and TURN servers; those of `settings` are not used.
    public var servers: ICEServerBook
    /// Where received tracks go; nil: they are received and thrown away.
    public var recorder: RoomRecorder?
    /// The message that is posted into the chat while anything is recorded; nil: none, ever.
    public var announcement: Announcement?
    /// Where received tracks are sent on; nil: nowhere.
    public var outputs: RTPOutputs?
    /// The source of our media; nil: none.
    public var camera: CameraSource?

    /// A context with each part given.
    public init(
        control: ControlThread,
        certificate: Certificate,
        policy: NegotiationPolicy,
        settings: WebRTCSettings,
        servers: ICEServerBook = ICEServerBook(),
        baseTimeNanoseconds: UInt64,
        recorder: RoomRecorder?,
        announcement: Announcement? = nil,
        outputs: RTPOutputs? = nil,
        camera: CameraSource?
    ) {
        self.control = control
        self.certificate = certificate
        self.policy = policy
        self.settings = settings
        self.servers = servers
        self.baseTimeNanoseconds = baseTimeNanoseconds
        self.recorder = recorder
        self.announcement = announcement
        self.outputs = outputs
        self.camera = camera
    }

    /// The consumers of received tracks.
    var sinks: [any TrackSink] {
        let sinks: [(any TrackSink)?] = [self.outputs, self.recorder]
        return sinks.compactMap { $0 }
    }

    /// Every fingerprint of our certificate that goes into descriptions: SHA-256, which all peers read.
    var fingerprints: [Fingerprint] {
        [self.certificate.digest(.sha256).flatMap { Fingerprint(algorithm: .sha256, digest: $0) }].compactMap { $0 }
    }
}
