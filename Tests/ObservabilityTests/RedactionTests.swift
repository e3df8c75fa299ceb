// SPDX-License-Identifier: Apache-2.0

import InMemoryLogging
import Logging
import Testing

@testable import Observability

@Suite struct RedactionTests {
    @Test(arguments: [
        ("socketio+https://rtc.example.org/123123", "socketio+https://rtc.example.org/123123"),
        (
            "socketio+https://user:secret@rtc.example.org/1?eio=4&token=secret",
            "socketio+https://rtc.example.org/1?eio=4&token=***"
        ),
        ("xmpp://recorder:p@ss@example.org/?peer=alice", "xmpp://example.org/?peer=alice"),
        ("whip+https://h/x?secret", "whip+https://h/x?***"),
        ("janus+ws://h/?room=1&ids=string&token=secret&insecure", "janus+ws://h/?room=1&ids=string&token=***&insecure"),
        ("lan+tcp://0.0.0.0:5556?listen", "lan+tcp://0.0.0.0:5556?listen"),
        ("https://h/x#secret", "https://h/x"), ("https://h/x?room=1#secret", "https://h/x?room=1"),
        ("xmpp://a@h/?room_server=https://u:secret@h", "xmpp://h/?room_server=***"),
        ("user:secret@host", "***"), ("", ""), ("://", "://"), ("a://@", "a://"), ("?&=&", "?=***"),
    ]) func urlKeepsNoSecret(text: String, redacted: String) {
        #expect(Redaction.url(text) == redacted)
        #expect(!Redaction.url(text).contains("secret"))
    }

    @Test func longTextIsCut() {
        #expect(Redaction.url("a://" + String(repeating: "x", count: 100_000)).count == 512)
    }

    @Test func everySessionHasAnIDOfItsOwn() {
        let logger = Logger(label: "test")
        let ids = (0..<100).map { _ in logger.forSession()[key: .sessionID]?.description ?? "" }
        #expect(Set(ids).count == 100)
        #expect(ids.allSatisfy { $0.count == 10 && $0.allSatisfy { $0.isASCII && ($0.isLetter || $0.isNumber) } })
    }
}
