// SPDX-License-Identifier: Apache-2.0

import Basics
import Testing

@Suite struct ShownNamesTests {
    private func shown(_ people: [(String, String?)]) -> [String] {
        let names = ShownNames(people.map { (id: $0.0, name: $0.1) })
        return people.map { names[$0.0] }
    }

    @Test func namesGoBeforeIDs() {
        #expect(self.shown([("x1", "Ann"), ("x2", nil), ("x3", ""), ("x4", "Zoë")]) == ["Ann", "x2", "x3", "Zoë"])
        #expect(ShownNames([(id: String, name: String?)]())["who"] == "who")
    }

    @Test func thoseOfOneNameAreNumberedAsTheyJoined() {
        #expect(
            self.shown([("a", "Ann"), ("b", "Bob"), ("c", "Ann"), ("d", "Ann")]) == [
                "Ann", "Bob", "Ann (2)", "Ann (3)",
            ]
        )
        #expect(self.shown([("a", "Ann"), ("b", "ann")]) == ["Ann", "ann"])
        #expect(self.shown([("Ann", nil), ("b", "Ann")]) == ["Ann", "Ann (2)"])
    }

    @Test func nobodyTakesTheNumberOfAnother() {
        #expect(
            self.shown([("a", "Ann (2)"), ("b", "Ann"), ("c", "Ann"), ("d", "Ann (2)")])
                == ["Ann (2)", "Ann", "Ann (3)", "Ann (2) (2)"]
        )
    }

    @Test func hostileNamesAreOneShortLine() {
        #expect(self.shown([("a", "An\u{202E}n\n\u{1b}[31m")]) == ["An n [31m"])
        #expect(self.shown([("a", "\u{202E}\u{0}"), ("\u{1b}", nil), ("", nil)]) == ["a", "?", "? (2)"])
        let long = self.shown([("a", String(repeating: "x", count: 5000)), ("b", String(repeating: "x", count: 60))])
        #expect(long == [String(repeating: "x", count: 39) + "…", String(repeating: "x", count: 39) + "… (2)"])
        let marks = self.shown([("a", "a" + String(repeating: "\u{301}", count: 5000))])
        #expect(marks.allSatisfy { $0.unicodeScalars.count <= 40 })
    }

    @Test func aCrowdOfOneNameTakesNoTime() {
        let crowd = (0..<20_000).map { (id: "\($0)", name: Optional("Ann")) }
        let names = ShownNames(crowd)
        #expect(names["19999"] == "Ann (20000)")
        #expect(Set(crowd.map { names[$0.id] }).count == crowd.count)
    }
}
