// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Model
import Testing

@Suite struct EventsDocumentTests {
    private let sections: [String: String]
    private let text: String

    init() throws {
        let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent().deletingLastPathComponent()
        self.text = try String(contentsOf: root.appending(path: "docs/events.md"), encoding: .utf8)
        let kinds = self.text.split(separator: "\n## ").first { $0.hasPrefix("Kinds\n") } ?? ""
        self.sections = Dictionary(
            kinds.split(separator: "\n### `").dropFirst().compactMap { section in
                section.firstIndex(of: "`").map { (String(section[..<$0]), String(section[$0...])) }
            },
            uniquingKeysWith: { first, _ in first }
        )
    }

    @Test func namesEveryKindAndNoOther() {
        #expect(Set(self.sections.keys) == Set(DaemonEvent.Kind.allCases.map(\.rawValue)))
    }

    @Test(arguments: DaemonEvent.Kind.allCases)
    func hasAnExampleOfEachKind(kind: DaemonEvent.Kind) throws {
        let section = try #require(self.sections[kind.rawValue])
        let example = try #require(section.split(separator: "```json\n").last?.split(separator: "\n```").first)
        let event = try JSONDecoder().decode(DaemonEvent.self, from: Data(example.utf8))
        #expect(event.kind == kind)
        for name in event.details.keys { #expect(section.contains("\n| `\(name)` | ")) }
    }

    @Test(arguments: [
        "Tapedeck-Event", "Tapedeck-Delivery", "Tapedeck-Timestamp", "Tapedeck-Signature",
    ])
    func namesEachHeader(name: String) {
        #expect(self.text.contains("| `\(name)` | "))
    }
}
