// SPDX-License-Identifier: Apache-2.0

internal import Basics

extension TraceCoding {
    /// An event of an XMPP stream.
    static func object(_ event: XMPPEvent) -> [String: JSONValue] {
        switch event {
        case .opened(let address): Self.input("xmpp", "opened", ["address": .string("\(address)")])
        case .received(let stanza): Self.input("xmpp", "received", Self.members(stanza))
        case .closed(let error): Self.input("xmpp", "closed", ["error": error.map(Self.value) ?? .null])
        }
    }

    /// The stream that is asked for, without its password.
    static func object(_ request: XMPPRequest) -> [String: JSONValue] {
        Self.output(
            "xmpp",
            "open",
            [
                "account": .string("\(request.account)"), "host": Self.optional(request.host),
                "port": .integer(request.port), "verifies": .bool(request.verifiesCertificate),
            ]
        )
    }

    /// A stanza that is sent.
    static func object(sending stanza: XMPPStanza) -> [String: JSONValue] {
        Self.output("xmpp", "send", Self.members(stanza))
    }

    /// An event of an XMPP stream, from an object of a trace; nil if it cannot be read.
    static func xmppEvent(_ kind: String, _ value: JSONValue) -> XMPPEvent? {
        switch kind {
        case "opened": return value["address"]?.string.flatMap { JID($0) }.map { .opened($0) }
        case "received": return Self.stanza(value).map { .received($0) }
        case "closed": return .closed(Self.error(value["error"]))
        default: return nil
        }
    }

    private static func members(_ stanza: XMPPStanza) -> [String: JSONValue] {
        [
            "stanza": .string(stanza.kind.rawValue), "type": Self.optional(stanza.type),
            "from": Self.optional(stanza.from.map { "\($0)" }), "to": Self.optional(stanza.to.map { "\($0)" }),
            "id": Self.optional(stanza.id), "body": Self.optional(stanza.body), "delayed": .bool(stanza.isDelayed),
            "priority": stanza.priority.map { .integer($0) } ?? .null,
            "payload": stanza.payload.map { .array([.string($0.name), .string($0.namespace)]) } ?? .null,
            "condition": Self.optional(stanza.condition),
        ]
    }

    private static func stanza(_ value: JSONValue) -> XMPPStanza? {
        guard let kind = value["stanza"]?.string.flatMap({ XMPPStanza.Kind(rawValue: $0) }) else { return nil }
        let payload = value["payload"]?.array?.compactMap(\.string) ?? []
        return XMPPStanza(
            kind,
            type: value["type"]?.string,
            from: value["from"]?.string.flatMap { JID($0) },
            to: value["to"]?.string.flatMap { JID($0) },
            id: value["id"]?.string,
            body: value["body"]?.string,
            isDelayed: value["delayed"]?.bool ?? false,
            priority: value["priority"]?.integer,
            payload: payload.count == 2 ? XMPPStanza.Element(payload[0], payload[1]) : nil,
            condition: value["condition"]?.string
        )
    }
}
