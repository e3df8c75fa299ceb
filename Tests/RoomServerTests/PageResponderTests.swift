// SPDX-License-Identifier: Apache-2.0

import NIOHTTP1
import Testing

@testable import RoomServer

@Suite struct PageResponderTests {
    private func text(_ path: String) -> String {
        String(decoding: PageResponder.response(method: .GET, path: path) { "{}" }.body, as: UTF8.self)
    }

    @Test(arguments: ["room", "name", "join", "leave", "status", "mute-audio", "mute-video", "tiles"])
    func elementsThatTestsDriveAreThere(id: String) {
        #expect(self.text("/").contains("id=\"\(id)\""))
    }

    @Test func inputsAreLabelled() {
        for id in ["room", "name"] { #expect(self.text("/").contains("<label for=\"\(id)\">")) }
    }

    @Test(arguments: ["/", "/room.js", "/room.css"])
    func nothingIsFetchedFromElsewhere(path: String) {
        for sign in ["http://", "https://", "src=\"//", "href=\"//", "@import", "url("] {
            #expect(!self.text(path).contains(sign))
        }
    }

    @Test func nothingIsInline() {
        for sign in ["<style", " style=", "<script>", " onclick="] { #expect(!self.text("/").contains(sign)) }
        let response = PageResponder.response(method: .GET, path: "/") { "{}" }
        let policy = response.headers.first(name: "Content-Security-Policy") ?? ""
        #expect(policy.contains("default-src 'none'"))
        #expect(!policy.contains("unsafe"))
    }

    @Test func methodsAreLimited() {
        for method in [HTTPMethod.POST, .PUT, .DELETE, .RAW(value: "BREW")] {
            #expect(PageResponder.response(method: method, path: "/") { "{}" }.status == .methodNotAllowed)
            #expect(PageResponder.response(method: method, path: "/../etc/passwd") { "{}" }.status == .notFound)
        }
    }
}
