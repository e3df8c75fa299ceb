// SPDX-License-Identifier: Apache-2.0

/// The XMPP client stream that a machine asks for (RFC 6120): always encrypted, signed in, and bound to a resource.
public struct XMPPRequest: Sendable, Hashable, CustomStringConvertible, CustomReflectable {
    /// The account that signs in, with the resource to ask for.
    public var account: JID
    /// The account's password; a secret.
    public var password: String
    /// Host name or address of the server; nil looks the domain's SRV records up (RFC 6120 section 3.2.1).
    public var host: String?
    /// TCP port, 1 to 65535.
    public var port: Int
    /// Whether the server's certificate must be valid for the account's domain.
    public var verifiesCertificate: Bool

    /// A request with each part given.
    public init(account: JID, password: String, host: String?, port: Int, verifiesCertificate: Bool = true) {
        self.account = account
        self.password = password
        self.host = host
        self.port = port
        self.verifiesCertificate = verifiesCertificate
    }

    /// The account, without its password.
    public var description: String { "XMPP stream of \(self.account)" }
    /// Without children.
    public var customMirror: Mirror { Mirror(self, children: [:]) }
}

/// An event of the XMPP stream; `closed` is the last.
public enum XMPPEvent: Sendable, Equatable {
    /// We are signed in under this address; no one sees us before presence is sent.
    case opened(JID)
    /// A stanza came.
    case received(XMPPStanza)
    /// It is closed, by the server or by us (nil), or by a failure.
    case closed(SignallingError?)
}

/// One stanza (RFC 6120 section 8), as much of it as signalling needs.
public struct XMPPStanza: Sendable, Hashable {
    /// The element.
    public enum Kind: String, Sendable, Hashable, CaseIterable {
        /// A message.
        case message
        /// Presence, or a subscription to it.
        case presence
        /// A request that must be answered, or an answer.
        case iq
    }

    /// The name of an element.
    public struct Element: Sendable, Hashable {
        /// Its local name.
        public var name: String
        /// Its namespace.
        public var namespace: String

        /// An element's name.
        public init(_ name: String, _ namespace: String) {
            self.name = name
            self.namespace = namespace
        }
    }

    /// The element.
    public var kind: Kind
    /// The `type` attribute.
    public var type: String?
    /// The `from` attribute; nil for what the server itself says.
    ///
    /// Text that is no address counts as nil.
    public var from: JID?
    /// The `to` attribute.
    public var to: JID?
    /// The `id` attribute.
    public var id: String?
    /// The text of a message; nil without one, such as in receipts and chat states.
    public var body: String?
    /// Whether the server kept it for us while we were away (XEP-0203).
    public var isDelayed: Bool
    /// The priority of our presence: -128 to 127.
    public var priority: Int?
    /// The first child of an `iq`.
    public var payload: Element?
    /// The defined condition of an error (RFC 6120 section 8.3.3).
    public var condition: String?

    /// A stanza with each part given.
    public init(
        _ kind: Kind,
        type: String? = nil,
        from: JID? = nil,
        to: JID? = nil,
        id: String? = nil,
        body: String? = nil,
        isDelayed: Bool = false,
        priority: Int? = nil,
        payload: Element? = nil,
        condition: String? = nil
    ) {
        self.kind = kind
        self.type = type
        self.from = from
        self.to = to
        self.id = id
        self.body = body
        self.isDelayed = isDelayed
        self.priority = priority
        self.payload = payload
        self.condition = condition
    }
}
