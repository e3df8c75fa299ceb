// SPDX-License-Identifier: Apache-2.0

internal import Basics
public import Model
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

extension NetworkSpec {
    /// The servers, one for each URL.
    ///
    /// - Throws: `Problem`: the first of a server that cannot be used.
    public func webRTCServers() throws(WebRTCServer.Problem) -> [WebRTCServer] {
        var servers: [WebRTCServer] = []
        for server in self.servers {
            for url in server.urls {
                let credential = server.credential?.value
                servers.append(try WebRTCServer(url, username: server.username, credential: credential))
            }
        }
        return servers
    }
}
