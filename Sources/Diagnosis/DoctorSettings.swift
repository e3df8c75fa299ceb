// SPDX-License-Identifier: Apache-2.0

public import Model
public import PipelineCatalogue
public import Signalling

/// Subjects of `tapedeck doctor` besides the host itself.
public struct DoctorSettings: Sendable, Hashable {
    /// A server that a room or its media need.
    public struct Server: Sendable, Hashable {
        /// The part that needs it, for example `room standup`.
        public var purpose: String
        /// Its name or address.
        public var host: String

        /// A server with each part given.
        public init(purpose: String, host: String) {
            self.purpose = purpose
            self.host = host
        }
    }

    /// A STUN or TURN server, and what it takes to use it.
    public struct ICEServer: Sendable, Hashable {
        /// Where it is.
        public var url: ICEServerURL
        /// The user name of a TURN server; empty for STUN.
        public var username: String
        /// The password of a TURN server, a secret; empty for STUN.
        var credential: String

        /// A server with each part given.
        public init(url: ICEServerURL, username: String = "", credential: String = "") {
            self.url = url
            self.username = username
            self.credential = credential
        }
    }

    /// How a new process of this program tries an encoder.
    public struct EncoderTrial: Sendable, Hashable {
        /// Its arguments; the name of the encoder's file is appended.
        public var arguments: [String]
        /// How long that may take, with its start and its end.
        public var limit: Duration

        /// A trial with each part given.
        public init(arguments: [String], limit: Duration) {
            self.arguments = arguments
            self.limit = limit
        }
    }

    /// Where recordings go.
    public var storageDirectory = "."
    /// Bytes that must stay free there.
    public var minimumFree: UInt64 = 2_000_000_000
    /// The file of the key that certificates are signed with; `nil` if they are not.
    public var signingKey: String?
    /// Where recordings are uploaded to, which is tried; `nil` if they are not.
    public var upload: UploadSpec?
    /// UDP ports for media.
    public var mediaPorts: ClosedRange<UInt16> = 40_000...49_999
    /// Address of the HTTP interface.
    public var interfaceHost = "127.0.0.1"
    /// Port of the HTTP interface; 0 takes any.
    public var interfacePort: UInt16 = 8330
    /// Whether the HTTP interface speaks TLS.
    public var interfaceHasTLS = false
    /// Servers whose names must resolve; the first 64 are looked up.
    public var servers: [Server] = []
    /// STUN and TURN servers, each of which is asked; the first 32.
    public var iceServers: [ICEServer] = []
    /// The pipeline files whose elements are looked for, and whose encoders are tried.
    public var pipelines = PipelineCatalogue([])
    /// How encoders are tried; `nil` tries none.
    public var encoderTrial: EncoderTrial?

    /// Settings for a host that runs commands without a configuration.
    public init() {}
}
