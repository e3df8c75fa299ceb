// SPDX-License-Identifier: Apache-2.0

/// The commands of the supervisor to the RTSP server's process: one JSON object a line on its standard input.
public enum RTSPCommand: Sendable, Hashable, Codable {
    /// Listens; the first command, and the only one of its kind.
    case serve(RTSPServerSpec)
    /// Everything that clients find of these rooms from now on; what is the same, and other rooms, are not touched.
    case mounts([String: [RTSPMountSpec]])
    /// Says goodbye to every client and ends with exit code 0.
    case shutDown
}

/// How clients are served.
public struct RTSPServerSpec: Sendable, Hashable, Codable {
    /// A client that may watch.
    public struct User: Sendable, Hashable, Codable {
        /// The user's name.
        public var name: String
        /// The password.
        public var password: String

        /// A user with both.
        public init(name: String, password: String) {
            self.name = name
            self.password = password
        }
    }

    /// An address or a host name.
    public var host: String
    /// TCP port; 0 lets the system choose.
    public var port: UInt16
    /// The clients that may watch; empty: all.
    public var users: [User] = []
    /// Path of the certificate chain; `nil` serves without TLS.
    public var certificate: String?
    /// Path of the private key.
    public var key: String?
    /// The most clients at a time.
    public var maximumClients = 64

    /// A server for all clients.
    public init(host: String, port: UInt16) {
        self.host = host
        self.port = port
    }
}

/// What clients find at some paths.
public struct RTSPMountSpec: Sendable, Hashable, Codable {
    /// One stream.
    public struct Line: Sendable, Hashable, Codable {
        /// The RTP port on `address` that a worker sends to; RTCP uses the next one.
        public var port: UInt16
        /// The worker's own RTP port.
        public var sourcePort: UInt16
        /// Synchronisation source.
        public var ssrc: UInt32

        /// A stream with each part given.
        public init(port: UInt16, sourcePort: UInt16, ssrc: UInt32) {
            self.port = port
            self.sourcePort = sourcePort
            self.ssrc = ssrc
        }
    }

    /// Paths as `RTSPPath` makes them, at least one.
    public var paths: [String]
    /// Names of the users who see it.
    public var users: [String]
    /// The loopback address that a worker sends to.
    public var address: String
    /// The worker's session description.
    public var sdp: String
    /// One for each m-line, in their order.
    public var lines: [Line]

    /// A mount with each part given.
    public init(paths: [String], users: [String], address: String, sdp: String, lines: [Line]) {
        self.paths = paths
        self.users = users
        self.address = address
        self.sdp = sdp
        self.lines = lines
    }
}

/// What the RTSP server's process says: one JSON object a line on its standard output.
public enum RTSPEvent: Sendable, Hashable, Codable {
    /// It listens.
    case listening(port: UInt16)
    /// It does not listen, and ends.
    case failed(reason: String)
    /// Once a second: it lives, and so many clients are connected.
    case heartbeat(clients: Int)
    /// Something cannot be mounted at present; reported once, tried again every second.
    case notMounted(path: String, reason: String)
}
