// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing

/// Words that plain English does not need, and what to say instead (docs/contributing.md, "Words").
///
/// README and help have none of them. Elsewhere `words.json` has how many there are: a number may fall and never rise.
/// TAPEDECK_COUNT_WORDS=1 writes the file.
@Suite struct WordsTests {
    /// A pattern, and what to say instead.
    private static let words: [(pattern: String, instead: String)] = [
        ("anew", "again, new, restarts, redials"),
        ("somebody|nobody|everybody", "a participant, anyone, a client; no one, none"),
        ("whoever", "the peer, participant, client or operator that"),
        ("go(es|ing)? on|went on", "continues, is in progress, resumes"),
        ("pictures?|sounds?", "video, frame, image; audio"),
        ("puts? (us|it|them|others) out|put out|thrown out", "kicks, kicked"),
        ("makes? place", "leaves, frees a slot"),
        ("the interface", "the HTTP API"),
        ("tells|told", "reports, logs, sends, is notified"),
        ("gives? up|given up", "drops, abandons, fails for good"),
        ("beside", "next to, besides, in addition to"),
        ("by itself", "automatically"),
        ("meanwhile", "while"),
        ("of (its|their) own", "its own, separate"),
        ("has to|have to", "must"),
        ("for people", "human-readable"),
    ]

    private static let patterns = Self.words.map { word in
        (word.pattern, try? NSRegularExpression(pattern: "\\b(\(word.pattern))\\b", options: .caseInsensitive))
    }

    /// How often each pattern is in a text.
    private static func counts(_ text: String) -> [String: Int] {
        let range = NSRange(text.startIndex..., in: text)
        var found: [String: Int] = [:]
        for (pattern, expression) in Self.patterns {
            let count = expression?.numberOfMatches(in: text, range: range) ?? 0
            if count > 0 { found[pattern] = count }
        }
        return found
    }

    /// The comments of a source file.
    private static func comments(_ text: String) -> String {
        text.split(separator: "\n").compactMap { line in
            line.range(of: "//").map { String(line[$0.upperBound...]) }
        }.joined(separator: "\n")
    }

    /// The quoted text in a source file: messages, logs, help.
    private static func quotes(_ text: String) -> String {
        var isInside = false
        return text.split(separator: "\n", omittingEmptySubsequences: false).compactMap { line -> String? in
            if line.contains("\"\"\"") {
                isInside.toggle()
                return nil
            }
            if isInside { return String(line) }
            let code = line.range(of: "// ").map { line[..<$0.lowerBound] } ?? line
            let parts = code.split(separator: "\"", omittingEmptySubsequences: false)
            return parts.enumerated().filter { $0.offset % 2 == 1 }.map { String($0.element) }.joined(separator: "\n")
        }.joined(separator: "\n")
    }

    @Test(arguments: ["README.md", "docs/index.md", "docs/commands.md", "docs/install.md", "docs/limits.md"])
    func whatIsReadFirstHasNone(path: String) throws {
        for (pattern, count) in Self.counts(try PackageFiles.text(path)) {
            let instead = Self.words.first { $0.pattern == pattern }?.instead ?? ""
            Issue.record("\(path) has \(count) of \(pattern); say: \(instead)")
        }
    }

    @Test func elsewhereTheyOnlyGetFewer() throws {
        let sources = try PackageFiles.texts("Sources", [".swift", ".c", ".h"])
        let documents = try PackageFiles.texts("docs", [".md", ".yaml"])
        let page = try PackageFiles.texts("Sources", [".js", ".html", ".yaml"]).map(\.text)
        let isDecision = { (path: String) in path.hasPrefix("docs/decisions/") || path == "docs/changelog.md" }
        let places: [String: [String]] = [
            "comments": sources.map { Self.comments($0.text) },
            "messages": sources.map { Self.quotes($0.text) },
            "page and API document": page,
            "documents": documents.filter { !isDecision($0.path) }.map(\.text),
            "decisions and changelog": documents.filter { isDecision($0.path) }.map(\.text),
        ]
        let now = places.mapValues { Self.counts($0.joined(separator: "\n")) }
        let file = PackageFiles.root.appending(path: "Tests/DocumentationTests/words.json")
        if ProcessInfo.processInfo.environment["TAPEDECK_COUNT_WORDS"] != nil {
            let encoder = JSONEncoder()
            encoder.outputFormatting = [.prettyPrinted, .sortedKeys]
            try (encoder.encode(now) + Data("\n".utf8)).write(to: file)
        }
        let before = try JSONDecoder().decode([String: [String: Int]].self, from: Data(contentsOf: file))
        for (place, counts) in now {
            for (pattern, count) in counts where count > before[place]?[pattern] ?? 0 {
                let instead = Self.words.first { $0.pattern == pattern }?.instead ?? ""
                let limit = before[place]?[pattern] ?? 0
                Issue.record("\(place): \(count) of \(pattern), at most \(limit); say: \(instead)")
            }
        }
    }
}
