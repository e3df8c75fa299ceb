// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import Signalling

@Suite struct CookieJarTests {
    @Test func keepsReplacesAndDeletes() {
        var jar = CookieJar()
        #expect(jar.header == nil)
        jar.store(["io=abc; Path=/; HttpOnly", " lb = 7 ;Secure", "nonsense", "=x", "bad=\u{1}"])
        #expect(jar.header == "io=abc; lb=7")
        jar.store(["io=def"])
        #expect(jar.header == "lb=7; io=def")
        jar.store(["lb=; Max-Age=0"])
        #expect(jar.header == "io=def")
    }

    @Test func isBounded() {
        var jar = CookieJar()
        jar.store((0..<100).map { "c\($0)=x" } + ["long=" + String(repeating: "x", count: CookieJar.maximumBytes)])
        #expect(jar.header?.split(separator: ";").count == CookieJar.maximumCookies)
    }
}
