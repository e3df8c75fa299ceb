// SPDX-License-Identifier: Apache-2.0

internal import Basics
public import Signalling

/// A STUN or TURN server with what it takes to use it.
public struct WebRTCServer: Sendable, Hashable {
    /// Where it is.
    public let url: ICEServerURL
    /// The long-term credential's user name (RFC 8489, 9.2); empty for STUN.
    public let username: String
    /// The long-term credential's password; a secret.
    let credential: String

    /// Why a server cannot be used: one sentence without the password.
    public struct Problem: Error, Sendable, Hashable {
        /// The sentence.
        public let message: String
    }

    /// Reads a URL of RFC 7064 or RFC 7065 (`stun:host:port`).
    ///
    /// - Throws: `Problem`; a TURN server without user name and password is one.
    public init(_ url: String, username: String?, credential: String?) throws(Problem) {
        do {
            self.url = try ICEServerURL(parsing: url)
        } catch {
            throw Problem(message: error.message)
        }
        guard self.url.kind == .turn else {
            (self.username, self.credential) = ("", "")
            return
        }
        guard let username, let credential, !username.isEmpty, !credential.isEmpty else {
            throw Problem(message: "a TURN server needs username and credential")
        }
        (self.username, self.credential) = (username, credential)
    }

    /// The server at an address in the notation of webrtcbin; a secret if it relays.
    ///
    /// - Parameter isTunnelled: whether the address is the near end of a tunnel, which takes plain TCP.
    func text(address: String, port: Int, isTunnelled: Bool = false) -> String {
        let host = IPAddress.bracketed(address)
        guard self.url.kind == .turn else { return "stun://\(host):\(port)" }
        let transport = isTunnelled ? .tcp : self.url.transport
        let user = "\(PercentCoding.encode(self.username)):\(PercentCoding.encode(self.credential))"
        return "turn://\(user)@\(host):\(port)?transport=\(transport.rawValue)"
    }
}

/// Which of the servers that a room's own server offers are used.
public struct OfferedServerRule: Sendable, Hashable {
    /// Whether any are.
    public var usesOffered = true
    /// Their hosts: names and addresses in lower case, `*.DOMAIN`; empty: any.
    public var hosts: [String] = []

    /// Every server is used.
    public init() {}

    /// Whether a server at this host (a name in lower case or an address) may be used.
    public func allows(host: String) -> Bool {
        guard self.usesOffered else { return false }
        guard !self.hosts.isEmpty else { return true }
        return self.hosts.contains { allowed in
            allowed.hasPrefix("*.") ? host.hasSuffix(allowed.dropFirst()) : host == allowed
        }
    }
}
