// SPDX-License-Identifier: Apache-2.0

/// The name of a file inside a recording's folder, as a request may ask for it.
struct FileName: Sendable, Hashable {
    /// Longest name in bytes.
    static let maximumBytes = 1024

    /// The name, its parts joined by single slashes.
    let text: String
    /// The parts: none is empty, `.` or `..`.
    let parts: [String]

    /// A name from decoded segments, whose slashes count as separators too; `nil` if it could leave the folder.
    init?(_ segments: some Sequence<String>) {
        let text = segments.joined(separator: "/")
        let parts = text.split(separator: "/", omittingEmptySubsequences: false).map(String.init)
        guard text.utf8.count <= Self.maximumBytes, parts.count <= 8,
            parts.allSatisfy({ !$0.isEmpty && $0 != "." && $0 != ".." && !$0.utf8.contains(0) })
        else { return nil }
        self.text = text
        self.parts = parts
    }
}
