// SPDX-License-Identifier: Apache-2.0

import Basics
import Testing

@Suite struct AbsolutePathTests {
    @Test(arguments: [("/", "/"), ("//", "/"), ("/a", "/a"), ("/a/b//", "/a/b"), ("/a b/é", "/a b/é")])
    func pathsAreRead(text: String, path: String) {
        #expect(AbsolutePath.parse(text) == path)
    }

    @Test(arguments: ["", "a", "./a", "~/a", "/a\n", "/\u{85}", "/" + String(repeating: "a", count: 1024)])
    func othersAreRefused(text: String) {
        #expect(AbsolutePath.parse(text) == nil)
    }
}
