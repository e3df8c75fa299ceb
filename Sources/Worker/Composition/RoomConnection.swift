// SPDX-License-Identifier: Apache-2.0

public import GStreamer
public import Logging
public import Media
internal import Session
public import Signalling
internal import SignallingClients

/// Composition: from a room URL to what joins the room, for every command that does.
public enum RoomConnection {
    /// The client for the URL's protocol.
    ///
    /// A new protocol is a folder in `Signalling`, one in `SignallingClients`, and a case here.
    public static func signaller(for url: RoomURL, policy: JoinPolicy, logger: Logger) -> any Signaller {
        switch url {
        case .socketIO(let room):
            return SocketIOClient(
                configuration: SocketIOClient.Configuration(
                    host: room.host,
                    port: room.port,
                    isSecure: room.isSecure,
                    path: room.path,
                    room: room.room,
                    transport: EngineIOSessionStateMachine.Transport(rawValue: room.transport.rawValue) ?? .automatic,
                    version: EngineIOVersion(rawValue: Int(room.version.rawValue) ?? 0),
                    dialect: room.dialect,
                    isInsecure: !room.verifiesCertificate
                ),
                policy: policy,
                logger: logger
            )
        }
    }

    /// The room's name at its server.
    public static func roomName(of url: RoomURL) -> String {
        switch url {
        case .socketIO(let room): room.room
        }
    }

    /// The host of the room server.
    private static func host(of url: RoomURL) -> String {
        switch url {
        case .socketIO(let room): room.host
        }
    }

    /// How webrtcbin is set up; media go over loopback too if the room server is on it and no address is given.
    public static func webRTCSettings(for url: RoomURL, _ network: NetworkSettings) -> WebRTCSettings {
        var settings = WebRTCSettings()
        settings.portRange = network.portRange
        settings.hostAddresses = network.hostAddresses
        if network.hostAddresses.isEmpty, HostAddresses.isLoopback(Self.host(of: url)) {
            settings.hostAddresses = HostAddresses.all
        }
        settings.stunServer = network.stunServer
        settings.turnServers = network.turnServers
        return settings
    }

    /// What the peer connections of one session share.
    public static func context(
        url: RoomURL,
        network: NetworkSettings,
        control: ControlThread,
        recorder: RoomRecorder?,
        camera: CameraSource?,
        preferred: CameraCodec
    ) throws -> PeerConnectionContext {
        PeerConnectionContext(
            control: control,
            certificate: try Certificate.generate(),
            policy: .forSession(records: recorder != nil, camera: camera, preferred: preferred),
            settings: Self.webRTCSettings(for: url, network),
            baseTimeNanoseconds: UInt64(clamping: Runtime.monotonicNanoseconds),
            recorder: recorder,
            camera: camera
        )
    }
}

/// How peers reach us.
public struct NetworkSettings: Sendable, Hashable {
    /// Local addresses for media; empty: every interface but loopback, and loopback too if the room server is on it.
    public var hostAddresses: [String] = []
    /// Local UDP ports for media; nil leaves them to the system.
    public var portRange: ClosedRange<UInt16>?
    /// `stun://host:port`, as webrtcbin takes it; it takes one.
    public var stunServer: String?
    /// `turn(s)://user:password@host:port?transport=…`, as webrtcbin takes them, user and password escaped.
    public var turnServers: [String] = []

    /// Every interface, any port, no server.
    public init() {}
}
