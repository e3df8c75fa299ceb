// SPDX-License-Identifier: Apache-2.0

/// How people see the participants of a recording or a room: each has one line of text that no other has.
///
/// It is the name, or the id of who has none. Those of one name get numbers in the order in which they joined: `Ann`, then
/// `Ann (2)`.
public struct ShownNames: Sendable, Hashable {
    /// Characters of a name before it is cut; with its number it fits where 48 are shown.
    private static let maximumScalars = 40

    private var texts: [String: String] = [:]

    /// Display names of these participants, in the order in which they joined.
    public init(_ participants: some Sequence<(id: String, name: String?)>) {
        var taken: Set<String> = []
        var counts: [String: Int] = [:]
        for (id, name) in participants where self.texts[id] == nil {
            let text = name.flatMap(Self.line) ?? Self.text(ofID: id)
            var shown = text
            var count = counts[text] ?? 1
            while !taken.insert(shown).inserted {
                count += 1
                shown = "\(text) (\(count))"
            }
            counts[text] = count
            self.texts[id] = shown
        }
    }

    /// The display name of a participant; its id if it is not among those given.
    public subscript(id: String) -> String { self.texts[id] ?? Self.text(ofID: id) }

    private static func text(ofID id: String) -> String { Self.line(id) ?? "?" }

    private static func line(_ text: String) -> String? {
        guard let line = DisplayName.line(text) else { return nil }
        let scalars = line.unicodeScalars
        guard scalars.count > Self.maximumScalars else { return line }
        return String(String.UnicodeScalarView(scalars.prefix(Self.maximumScalars - 1))) + "…"
    }
}
