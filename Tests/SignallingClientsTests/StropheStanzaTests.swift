// SPDX-License-Identifier: Apache-2.0

import CStrophe
import Signalling
import Testing

@testable import SignallingClients

@Suite struct StropheStanzaTests {
    /// The stanza read from a text.
    private static func read(_ text: String) -> XMPPStanza? {
        guard let context = xmpp_ctx_new(nil, nil) else { return nil }
        defer { xmpp_ctx_free(context) }
        guard let stanza = xmpp_stanza_new_from_string(context, text) else { return nil }
        defer { xmpp_stanza_release(stanza) }
        return StropheStanza.read(stanza)
    }

    /// A stanza as it is written, read again.
    private static func written(_ stanza: XMPPStanza) -> XMPPStanza? {
        guard let context = xmpp_ctx_new(nil, nil) else { return nil }
        defer { xmpp_ctx_free(context) }
        guard let made = StropheStanza.make(stanza, context) else { return nil }
        defer { xmpp_stanza_release(made) }
        var text: UnsafeMutablePointer<CChar>?
        var length = 0
        guard xmpp_stanza_to_text(made, &text, &length) == XMPP_EOK, let text else { return nil }
        defer { xmpp_free(context, text) }
        return Self.read(String(cString: text))
    }

    @Test func readsWhatSignallingNeeds() {
        let delayed =
            "<message type='chat' from='a@b/c' to='d@e' id='1'><delay xmlns='urn:xmpp:delay' stamp='x'/>"
            + "<body>{&quot;type&quot;:&quot;bye&quot;}</body></message>"
        #expect(
            Self.read(delayed)
                == XMPPStanza(
                    .message,
                    type: "chat",
                    from: JID("a@b/c"),
                    to: JID("d@e"),
                    id: "1",
                    body: #"{"type":"bye"}"#,
                    isDelayed: true
                )
        )
        let error =
            "<message type='error' from='a@b'><body>x</body><error type='cancel'>"
            + "<text xmlns='urn:ietf:params:xml:ns:xmpp-stanzas'>y</text>"
            + "<item-not-found xmlns='urn:ietf:params:xml:ns:xmpp-stanzas'/></error></message>"
        #expect(Self.read(error)?.condition == "item-not-found")
        let ping = "<iq type='get' id='p' from='b'><ping xmlns='urn:xmpp:ping'/></iq>"
        #expect(Self.read(ping)?.payload == XMPPStanza.Element("ping", "urn:xmpp:ping"))
        #expect(Self.read("<presence from='not an@address@' type='x'/>") == XMPPStanza(.presence, type: "x"))
        #expect(Self.read("<message><composing xmlns='http://jabber.org/protocol/chatstates'/></message>")?.body == nil)
        #expect(Self.read("<other/>") == nil)
    }

    @Test(
        arguments: [
            XMPPStanza(.message, type: "chat", to: JID("a@b/c"), body: #"{"sdp":"<&>'\"\r\n","type":"offer"}"#),
            XMPPStanza(.presence, type: "subscribed", to: JID("a@b")),
            XMPPStanza(.iq, type: "get", to: JID("b"), id: "p", payload: XMPPStanza.Element("ping", "urn:xmpp:ping")),
        ]
    )
    func whatIsWrittenReadsBack(stanza: XMPPStanza) {
        #expect(Self.written(stanza) == stanza)
    }

    @Test func errorsCarryTheirCondition() {
        let written = Self.written(XMPPStanza(.iq, type: "error", id: "1", condition: "service-unavailable"))
        #expect(written?.condition == "service-unavailable" && written?.type == "error")
    }
}
