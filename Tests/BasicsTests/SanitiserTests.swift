// SPDX-License-Identifier: Apache-2.0

import Basics
import Testing

@Suite struct SanitiserTests {
    @Test(arguments: ["a", "alice", "Alice-2_b.c", "_x", "7", "a..b", String(repeating: "x", count: 64)])
    func keepsGoodNames(name: String) {
        #expect(Sanitiser.pathComponent(name, fallback: "room") == name)
    }

    @Test(arguments: [
        ("", "room"), ("..", "room-"), ("../../etc", "etc-"), ("/etc/passwd", "etc_passwd-"),
        (".hidden", "hidden-"), ("-rf", "rf-"), ("a b", "a_b-"), ("a/b", "a_b-"), ("a\u{0}b", "a_b-"),
        ("🎉", "room-"), ("Zoë", "Zo-"), ("a\nb", "a_b-"), ("con:aux|*?", "con_aux-"), ("ＡＢ", "room-"),
        ("a%2e%2e/", "a_2e_2e-"), ("~root", "root-"), ("$(reboot)", "reboot-"),
    ])
    func replacesTheRest(name: String, beginning: String) {
        #expect(Sanitiser.pathComponent(name, fallback: "room").hasPrefix(beginning))
    }

    @Test(
        arguments: [
            ("Ann", "Ann"), ("Ann (2)", "Ann_2"), ("Zoë", "Zoe"), ("Zoe\u{308}", "Zoe"),
            ("Łukasz Ørsted", "Lukasz_Orsted"),
            ("Ann 🎉", "Ann"), ("-rf", "rf"), ("../../etc/passwd", "etc_passwd"), ("a\u{0}b\nc", "a_b_c"),
            (String(repeating: "x", count: 500), String(repeating: "x", count: 64)),
            ("Ольга", nil), ("Ольга (2)", nil), ("李 Ann", nil), ("ß", nil), ("🎉", nil), ("..", nil), ("", nil),
        ] as [(String, String?)]
    )
    func readsLikeTheName(name: String, component: String?) {
        #expect(Sanitiser.readableComponent(name) == component)
    }

    @Test(arguments: [
        "", ".", "..", "../../etc", "/", "//", "\\..\\..", "🎉🎉", String(repeating: "../", count: 4000),
        String(repeating: "x", count: 10_240), String(repeating: "é", count: 5120), "\u{202E}gpj.exe", "a\u{0}",
        String(repeating: "x", count: 65), String(repeating: "-", count: 70), "nul\r\n",
    ])
    func givesOneSafeComponent(name: String) {
        let component = Sanitiser.pathComponent(name, fallback: "peer")
        let allowed = Set("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.".utf8)
        #expect((1...Sanitiser.maximumLength).contains(component.utf8.count))
        #expect(component.utf8.allSatisfy(allowed.contains))
        #expect(component.first.map { $0 != "." && $0 != "-" } == true)
    }

    @Test func keepsApartWhatLooksAlikeAfterwards() {
        let names = ["a b", "a/b", "a\u{0}b", "a_b", "a*b", "a b ", " a b", "🎉", "🎊", "", "..", "."]
        let components = Set(names.map { Sanitiser.pathComponent($0, fallback: "room") })
        #expect(components.count == names.count)
    }

    @Test func keepsApartLongNamesThatDifferAtTheirEnd() {
        let stem = String(repeating: "x", count: 10_240)
        #expect(
            Sanitiser.pathComponent(stem + "1", fallback: "room")
                != Sanitiser.pathComponent(stem + "2", fallback: "room")
        )
    }
}
