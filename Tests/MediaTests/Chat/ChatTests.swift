// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import Media

@Suite struct ChatTests {
    @Test(arguments: [
        ("hello", "hello"),
        ("  spaces stay ", "  spaces stay "),
        (#"{"type":"chat","text":"hi"}"#, "hi"),
        (#" {"message":"hi","from":{"name":"x"}}"#, "hi"),
        (#"{"msg":"hi","text":7}"#, "hi"),
        (#"{"type":"cursor","x":1}"#, #"{"type":"cursor","x":1}"#),
        (#"{"payload":{"text":"hi"}}"#, #"{"payload":{"text":"hi"}}"#),
        (#"{"text":"torn"#, #"{"text":"torn"#),
        (#"["text"]"#, #"["text"]"#),
        ("{}", "{}"),
    ])
    func whatAPersonWroteIsRead(message: String, text: String) {
        #expect(ChatText.read(message) == text)
    }

    @Test func nothingToSeeIsNothing() {
        #expect(ChatText.read("") == nil)
        #expect(ChatText.read(" \n") == nil)
        #expect(ChatText.read(#"{"text":" "}"#) == nil)
    }

    @Test func aLongTextLosesItsEndBetweenCharacters() throws {
        let text = try #require(ChatText.read(String(repeating: "ü", count: 5000)))
        #expect(text.utf8.count == ChatText.maximumBytes)
        #expect(ChatText.read("x" + String(repeating: "👩‍👩‍👧", count: 5000))?.utf8.count ?? 0 <= ChatText.maximumBytes)
        #expect(ChatText.read("x" + String(repeating: "ü", count: 5000))?.utf8.count == ChatText.maximumBytes - 1)
    }
}
