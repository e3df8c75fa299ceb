// SPDX-License-Identifier: Apache-2.0

public import Basics

/// A STUN or TURN server that a signalling server offers (W3C webrtc-pc section 4.2.4, `RTCIceServer`).
public struct ICEServer: Hashable, Sendable {
    /// `stun:`, `turn:` or `turns:` URLs (RFC 7064, RFC 7065).
    public var urls: [String]
    /// The long-term credential's user name; nil for STUN.
    public var username: String?
    /// The long-term credential's password; a secret.
    public var credential: String?

    /// A server with each part given.
    public init(urls: [String], username: String? = nil, credential: String? = nil) {
        self.urls = urls
        self.username = username
        self.credential = credential
    }

    /// Reads one element of an `iceServers` array: `urls` or `url`, a string or an array of them; nil without any.
    public init?(_ value: JSONValue) {
        let urls = value["urls"] ?? value["url"]
        self.urls = urls?.string.map { [$0] } ?? urls?.array?.compactMap(\.string) ?? []
        guard !self.urls.isEmpty else { return nil }
        self.username = value["username"]?.string
        self.credential = value["credential"]?.string ?? value["password"]?.string
    }
}
