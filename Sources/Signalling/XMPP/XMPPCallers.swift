// SPDX-License-Identifier: Apache-2.0

/// The callers that we accept: accounts, whole domains, or all.
public struct XMPPCallers: Sendable, Hashable, CustomStringConvertible {
    /// Most entries of a list.
    public static let maximumCount = 64

    private let entries: [String]

    /// An empty set: no caller is accepted.
    public init() {
        self.entries = []
    }

    /// Reads `NAME@DOMAIN`, `*@DOMAIN` and `*`, with commas between them; nil if something is none of these.
    public init?(text: String) {
        let entries = text.split(separator: ",", omittingEmptySubsequences: false).map { $0.lowercased() }
        guard (1...Self.maximumCount).contains(entries.count) else { return nil }
        for entry in entries where entry != "*" {
            guard let jid = JID(entry), jid.resource == nil, jid.bare.contains("@") else { return nil }
        }
        self.entries = entries
    }

    /// Whether no caller is accepted.
    public var isEmpty: Bool { self.entries.isEmpty }

    /// Whether a caller is accepted.
    public func contains(_ jid: JID) -> Bool {
        self.entries.contains { $0 == "*" || $0 == jid.bare || $0 == "*@\(jid.domain)" }
    }

    /// As the URL has it.
    public var description: String { self.entries.joined(separator: ",") }
}
