// SPDX-License-Identifier: Apache-2.0

import ConfigurationFile
import Foundation
import TestSupport
import Testing

/// Texts that want to hang, exhaust or trap the reader.
@Suite struct HostileTextTests {
    /// Nine anchors, each with nine aliases of the one before: 3.8e8 values.
    static func bomb(last: String) -> String {
        var lines = ["a0: &a0 [x]"]
        for level in 1...9 {
            let aliases = [String](repeating: "*a\(level - 1)", count: 9).joined(separator: ", ")
            lines.append("a\(level): &a\(level) [\(aliases)]")
        }
        return (lines + [last]).joined(separator: "\n")
    }

    static let texts: [(name: String, text: String, problem: String)] = [
        ("empty", "", "there is nothing in it"),
        ("blank", "\n\n# nothing\n", "there is nothing in it"),
        ("list", "- a\n- b", "line 1, column 1: found a list; accepted: a mapping"),
        ("text", "hello", "line 1, column 1: found a text; accepted: a mapping"),
        (
            "half a line", "storage:\n  directory: \"/var",
            "not YAML: found unexpected end of stream while scanning a quoted scalar"
        ),
        ("half a list", "ice:\n  servers: [{ urls: [", "did not find expected node content while parsing a flow node"),
        ("half a mapping", "storage: { directory: /a,", "not YAML"),
        ("half a JSON text", #"{"storage": {"directory": "/a"#, "not YAML"),
        (
            "tabs", "storage:\n\tdirectory: /a",
            "line 2, column 1: not YAML: found character that cannot start any token while scanning for the next token "
                + #"in the line "directory: /a"; indent with blanks, not with tabs"#
        ),
        ("wrong indentation", "storage:\n  directory: /a\n keep: 3d", #"in the line "keep: 3d""#),
        ("two values", "storage: { directory: /a, keep: 3d }}", #"in the line "storage: …""#),
        (
            "secret", "api:\n  token: a: b",
            "line 2, column 11: not YAML: mapping values are not allowed in this context"
        ),
        ("NUL", "storage:\n  directory: /a\0b", "line 2, column 16: control characters are not allowed"),
        ("escape", "a: \u{1B}[31m", "line 1, column 4: control characters are not allowed"),
        ("two documents", "{}\n---\n{}", "line 2, column 1: a second document begins here; accepted: one document"),
        ("unknown alias", "storage: *none", "line 1, column 10: not YAML: found undefined alias"),
        ("alias of itself", "storage: &a [*a]", "not YAML: found undefined alias"),
        ("bomb", bomb(last: ""), "more than 250000 values, aliases counted as what they stand for"),
        ("bomb behind a room", bomb(last: "rooms: *a9"), "more than 250000 values"),
        ("bomb as a key", bomb(last: "? *a9\n: x\n? *a9\n: y"), "aliases (*name) next to keys"),
        ("bomb as an implicit key", bomb(last: "*a9 : x"), "line 11, column 1: aliases (*name) next to keys"),
        ("bomb in a flow key", bomb(last: "z: { [*a9] : x, [*a9]: y }"), "aliases (*name) next to keys"),
        ("bomb in a question", bomb(last: "z: {?*a9 : x,?*a9 : y}"), "aliases (*name) next to keys"),
        ("deep list", String(repeating: "[", count: 100_000), "Maximum nesting level"),
        ("deep mapping", String(repeating: "{a: ", count: 50_000), "Maximum nesting level"),
        ("deep blocks", String(repeating: "- ", count: 100_000), "Maximum nesting level"),
        ("deep questions", String(repeating: "? ", count: 100_000), "Maximum nesting level"),
        ("forty levels", String(repeating: "[", count: 40) + String(repeating: "]", count: 40), "deeper than 32"),
        ("900 levels", String(repeating: "[", count: 900) + String(repeating: "]", count: 900), "deeper than 32"),
        ("many values", "a: [" + String(repeating: "1,", count: 300_000) + "]", "more than 250000 values"),
        ("too long", String(repeating: "#", count: (1 << 20) + 1), "longer than 1048576 bytes"),
        ("many duplicates", (0..<30).map { "a\($0): 1\na\($0): 2\n" }.joined(), "keys given twice: \"a"),
        ("duplicates in JSON", #"{"storage":{},"storage":{"keep":1}}"#, "line 1, column 2: keys given twice"),
        ("tag of wrong bytes", "a: !<%ED%A0%80> b", "a"),
        ("surrogate", #"{"a": "\ud800"}"#, "while parsing a quoted scalar"),
        ("merge", "storage: { <<: { directory: /a } }", "storage.<<: unknown key"),
        ("number of 1 MB", "workers: { export_jobs: " + String(repeating: "9", count: 1_000_000) + " }", "found \"99"),
        ("name of 1000 bytes", "rooms: { " + String(repeating: "a", count: 1000) + ": {} }", "cannot be a room's name"),
        (
            "too many rooms", "rooms: {" + (0...10_000).map { "r\($0): {}," }.joined() + "}",
            "rooms: 10001 rooms; accepted: 10000 at most"
        ),
    ]

    @Test(arguments: texts.map(\.name))
    func isRefusedWithItsReason(name: String) throws {
        let (_, text, problem) = try #require(Self.texts.first { $0.name == name })
        let told = problems(text)
        #expect(told.contains { $0.contains(problem) }, "\(told.prefix(3))")
        #expect(told.allSatisfy { $0.utf8.count < 1000 })
    }

    @Test func isRefusedOnASmallStack() throws {
        let ended = DispatchSemaphore(value: 0)
        let thread = Thread {
            for case let (name, text, _) in Self.texts where name.contains("deep") || name.contains("levels") {
                _ = problems(text)
            }
            ended.signal()
        }
        thread.stackSize = 2 << 20
        thread.start()
        ended.wait()
    }

    @Test func everyCutOfARightTextIsTakenOrRefused() throws {
        let text = try packageText("Tests/ConfigurationFileTests/Fixtures/everything.yaml")
        var refused = 0
        for length in stride(from: 0, to: text.utf8.count, by: 7) {
            let cut = String(decoding: text.utf8.prefix(length), as: UTF8.self)
            refused += problems(cut, LoadingTests.values).isEmpty ? 0 : 1
        }
        #expect(refused > 0)
    }

    @Test func changedBytesOfARightTextAreTakenOrRefused() throws {
        let bytes = Array(try packageText("Tests/ConfigurationFileTests/Fixtures/everything.yaml").utf8)
        for (index, replacement) in zip(
            stride(from: 0, to: bytes.count, by: 3),
            Array("{}[]:,*&!|>%@`\"'\\#?- \n\t\0\u{7F}0a".utf8).cycled()
        ) {
            var changed = bytes
            changed[index] = replacement
            for problem in problems(String(decoding: changed, as: UTF8.self), LoadingTests.values) {
                #expect(!problem.contains("s3cret"))
            }
        }
    }

    @Test func valuesAreBounded() throws {
        let long = FixedValues(files: ["/a": String(repeating: "x", count: 60_000)])
        let text =
            "rooms: { a: { url: \"socketio+http://h/r\", display_name: \"\(String(repeating: "${file:/a}", count: 100))\" } }"
        #expect(problems(text, long).contains { $0.contains("rooms.a.display_name: the values of ${…} are too long") })
    }

    @Test func filesInPlaceOfConfigurationsAreRefused() throws {
        let folder = try TemporaryFolder()
        func told(_ path: String) -> (ConfigurationError.Code?, String) {
            do {
                _ = try DaemonConfiguration.load(path: path, values: FixedValues())
                return (nil, "")
            } catch {
                return (error.code, error.description.replacing(folder.path, with: ""))
            }
        }
        #expect(told(folder.path) == (.unreadable, ": is a directory"))
        #expect(told("\(folder.path)/none") == (.unreadable, "/none: cannot be opened: No such file or directory"))
        #expect(told("\(folder.path)/a\0b") == (.unreadable, "/a\0b: has a NUL in its name"))
        #expect(told("/dev/zero") == (.unreadable, "/dev/zero: is not a regular file"))
        let pipe = "\(folder.path)/pipe"
        #expect(mkfifo(pipe, 0o600) == 0)
        #expect(told(pipe) == (.unreadable, "/pipe: is not a regular file"))
        let utf16 = try folder.file("utf16", try #require("storage: {}".data(using: .utf16)))
        #expect(told(utf16) == (.invalid, "/utf16: is UTF-16; UTF-8 is needed"))
        #expect(told(try folder.file("bytes", [0x61, 0xFF])) == (.invalid, "/bytes: is not UTF-8 text"))
        let long = try folder.file("long", [UInt8](repeating: 0x23, count: (1 << 20) + 1))
        #expect(told(long) == (.invalid, "/long: is longer than 1048576 bytes"))
        #expect(told(try folder.file("empty", [])) == (.invalid, "/empty: there is nothing in it"))
        #expect(told(try folder.file("bom", [0xEF, 0xBB, 0xBF] + "{}".utf8)) == (nil, ""))
    }
}

extension Array {
    /// The elements again and again.
    fileprivate func cycled() -> some Sequence<Element> {
        sequence(state: 0) { (index: inout Int) in
            defer { index = (index + 1) % self.count }
            return self.isEmpty ? nil : self[index]
        }
    }
}
