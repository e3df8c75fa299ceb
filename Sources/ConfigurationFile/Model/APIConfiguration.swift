// SPDX-License-Identifier: Apache-2.0

public import Basics

/// Somebody who may use the HTTP interface.
public struct APIToken: Sendable, Hashable {
    /// What a token lets its bearer do.
    public enum Scope: String, Sendable, Hashable, CaseIterable {
        /// See rooms, recordings and events.
        case read
        /// Add, change and remove rooms, start and stop recordings, delete them.
        case control
        /// Fetch recorded files and pictures.
        case media
    }

    /// How the token is known.
    public enum Credential: Sendable, Hashable {
        /// The token itself.
        case plain(Secret)
        /// The SHA-256 digest of the token's UTF-8 bytes: 32 bytes.
        case sha256([UInt8])
    }

    /// The bearer's name, for the log; unique.
    public var name: String
    /// How the token is known.
    public var credential: Credential
    /// What it is good for; at least one.
    public var scopes: Set<Scope>

    /// A token with each part given.
    public init(name: String, credential: Credential, scopes: Set<Scope> = Set(Scope.allCases)) {
        self.name = name
        self.credential = credential
        self.scopes = scopes
    }
}

/// A certificate and its key, as PEM files.
public struct TLSFiles: Sendable, Hashable {
    /// Absolute path of the certificate chain, the server's own first.
    public var certificate: String
    /// Absolute path of the private key.
    public var key: String

    /// Two paths.
    public init(certificate: String, key: String) {
        self.certificate = certificate
        self.key = key
    }
}

/// The HTTP interface.
public struct APIConfiguration: Sendable, Hashable {
    /// Address or host name that is listened on; IPv6 without brackets.
    public var host = "127.0.0.1"
    /// TCP port; 0 lets the system choose.
    public var port = 8330
    /// Who may use it; empty only on loopback, where then everybody may.
    public var tokens: [APIToken] = []
    /// Certificate and key; `nil` speaks plain HTTP.
    public var tls: TLSFiles?
    /// Origins whose pages may use the interface from a browser (scheme, host, port); empty: none but its own.
    public var corsOrigins: [String] = []
    /// Requests a second that one client may make, 1 to 10 000.
    public var requestsPerSecond = 50
    /// Event streams that may be open at once, 1 to 10 000.
    public var maximumEventStreams = 100

    /// Every key at its default.
    public init() {}

    /// Whether only programs of this machine can reach it.
    public var isLoopback: Bool { IPAddress.isLoopback(host: self.host) }
}
