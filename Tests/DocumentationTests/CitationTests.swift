// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing

/// A comment that cites a document is worth as much as the document.
@Suite struct CitationTests {
    private static let sources = Result {
        try PackageFiles.texts("Sources", [".swift", ".c", ".h", ".yaml"]) + PackageFiles.texts("Pipelines", [".yaml"])
    }

    private static func exists(_ path: String) -> Bool {
        FileManager.default.fileExists(atPath: PackageFiles.root.appending(path: path).path())
    }

    @Test func documentsAreThere() throws {
        let decisions = try FileManager.default.contentsOfDirectory(
            atPath: PackageFiles.root.appending(path: "docs/decisions").path()
        )
        var count = 0
        for (path, text) in try Self.sources.get() {
            for match in text.matches(of: /\b(?:docs|Tests)\/[A-Za-z0-9_\/-]+\.(?:md|yaml|json)/) {
                count += 1
                #expect(Self.exists(String(match.0)), "\(path) cites \(match.0)")
            }
            for match in text.matches(of: /\b(?:[Dd]ecision |docs\/decisions\/0*)([0-9]+)/) {
                count += 1
                let number = String(match.1)
                let prefix = String(repeating: "0", count: max(0, 4 - number.count)) + number + "-"
                #expect(decisions.contains { $0.hasPrefix(prefix) }, "\(path) cites \(match.0)")
            }
        }
        #expect(count > 20)
    }

    /// Facts are cited as `docs/gstreamer.md, fact 18` or `docs/gstreamer.md, facts 19 and 20`.
    @Test func factsAreThere() throws {
        let document = try PackageFiles.text("docs/gstreamer.md")
        let numbers = document.matches(of: /(?m)^([0-9]+)\.\s/).compactMap { Int($0.1) }
        #expect(numbers == Array(1...max(1, numbers.count)), "numbers stay: none is missing, none is there twice")
        var cited: Set<Int> = []
        for (path, text) in try Self.sources.get() + PackageFiles.texts("docs/signalling", [".md"]) {
            for match in text.matches(of: /\b[Ff]acts? ([0-9]+(?:(?:,| and) [0-9]+)*)/) {
                let facts = match.1.split { !$0.isNumber }.compactMap { Int($0) }
                #expect(facts.allSatisfy(numbers.contains), "\(path) cites \(match.0)")
                cited.formUnion(facts)
            }
        }
        #expect(!cited.isEmpty)
    }

    @Test func linksOfDocumentsLeadSomewhere() throws {
        for (path, text) in try PackageFiles.texts("docs", [".md"]) + [("README.md", PackageFiles.text("README.md"))] {
            let folder = path.contains("/") ? path[..<(path.lastIndex(of: "/") ?? path.startIndex)] : ""
            for match in text.matches(of: /\]\(([^)#\s:]+)(?:#[^)]*)?\)/) {
                let target = folder.isEmpty ? String(match.1) : "\(folder)/\(match.1)"
                #expect(Self.exists(target), "\(path) links to \(match.1)")
            }
        }
    }
}
