// SPDX-License-Identifier: Apache-2.0

internal import CStrophe
internal import Signalling

/// Stanzas of libstrophe to and from ours.
enum StropheStanza {
    private static let delayNamespaces = ["urn:xmpp:delay", "jabber:x:delay"]
    /// Children of a stanza that are looked at.
    private static let maximumChildren = 64

    /// Reads a stanza; nil if it is none of the three kinds.
    static func read(_ stanza: OpaquePointer) -> XMPPStanza? {
        guard let kind = self.text(xmpp_stanza_get_name(stanza)).flatMap(XMPPStanza.Kind.init) else { return nil }
        var read = XMPPStanza(kind)
        read.type = self.text(xmpp_stanza_get_type(stanza))
        read.from = self.text(xmpp_stanza_get_from(stanza)).flatMap(JID.init)
        read.to = self.text(xmpp_stanza_get_to(stanza)).flatMap(JID.init)
        read.id = self.text(xmpp_stanza_get_id(stanza))
        if kind == .message, let body = xmpp_message_get_body(stanza) {
            read.body = String(validatingCString: body)
            xmpp_free(xmpp_stanza_get_context(stanza), body)
        }
        for child in self.children(of: stanza) {
            let name = self.text(xmpp_stanza_get_name(child))
            let namespace = self.text(xmpp_stanza_get_ns(child))
            if let name, let namespace, kind == .iq, read.payload == nil { read.payload = .init(name, namespace) }
            if name == "error" { read.condition = self.condition(of: child) }
            if let namespace, Self.delayNamespaces.contains(namespace) { read.isDelayed = true }
        }
        return read
    }

    private static func condition(of error: OpaquePointer) -> String? {
        let names = self.children(of: error).compactMap { self.text(xmpp_stanza_get_name($0)) }
        return names.first { $0 != "text" }.map { String($0.prefix(64)) }
    }

    private static func children(of stanza: OpaquePointer) -> [OpaquePointer] {
        var found: [OpaquePointer] = []
        var next = xmpp_stanza_get_children(stanza)
        while let child = next, found.count < Self.maximumChildren {
            if xmpp_stanza_is_tag(child) != 0 { found.append(child) }
            next = xmpp_stanza_get_next(child)
        }
        return found
    }

    private static func text(_ text: UnsafePointer<CChar>?) -> String? {
        text.flatMap { String(validatingCString: $0) }
    }

    /// Queues a stanza.
    static func send(_ stanza: XMPPStanza, _ connection: OpaquePointer, _ context: OpaquePointer?) {
        guard let made = self.make(stanza, context) else { return }
        xmpp_send(connection, made)
        xmpp_stanza_release(made)
    }

    /// The stanza as libstrophe has it, to be released by the caller; nil without memory.
    static func make(_ stanza: XMPPStanza, _ context: OpaquePointer?) -> OpaquePointer? {
        guard let made = self.element(stanza.kind.rawValue, context) else { return nil }
        if let type = stanza.type { xmpp_stanza_set_type(made, type) }
        if let to = stanza.to { xmpp_stanza_set_to(made, "\(to)") }
        if let id = stanza.id { xmpp_stanza_set_id(made, id) }
        if let body = stanza.body { xmpp_message_set_body(made, body) }
        if let priority = stanza.priority { self.add(self.element("priority", text: "\(priority)", context), to: made) }
        if let payload = stanza.payload {
            self.add(self.element(payload.name, namespace: payload.namespace, context), to: made)
        }
        if let condition = stanza.condition, let error = self.element("error", context) {
            xmpp_stanza_set_type(error, "cancel")
            self.add(self.element(condition, namespace: XMPP_NS_STANZAS_IETF, context), to: error)
            self.add(error, to: made)
        }
        return made
    }

    private static func element(
        _ name: String,
        namespace: String? = nil,
        text: String? = nil,
        _ context: OpaquePointer?
    ) -> OpaquePointer? {
        guard let element = xmpp_stanza_new(context) else { return nil }
        xmpp_stanza_set_name(element, name)
        if let namespace { xmpp_stanza_set_ns(element, namespace) }
        if let text, let child = xmpp_stanza_new(context) {
            xmpp_stanza_set_text(child, text)
            self.add(child, to: element)
        }
        return element
    }

    /// Adds a child and releases our reference to it.
    private static func add(_ child: OpaquePointer?, to parent: OpaquePointer) {
        guard let child else { return }
        xmpp_stanza_add_child_ex(parent, child, 0)
    }
}
