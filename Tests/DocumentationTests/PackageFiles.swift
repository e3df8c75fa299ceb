// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing

/// Files of this repository.
enum PackageFiles {
    /// The repository's folder.
    static let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent()

    /// The text of a file.
    static func text(_ path: String) throws -> String {
        try String(contentsOf: Self.root.appending(path: path), encoding: .utf8)
    }

    /// The texts below a folder, by path.
    static func texts(_ folder: String, _ suffixes: [String]) throws -> [(path: String, text: String)] {
        let root = Self.root.appending(path: folder)
        let paths = try #require(FileManager.default.enumerator(atPath: root.path())).compactMap { $0 as? String }
        return try paths.filter { path in suffixes.contains { path.hasSuffix($0) } }.sorted().map { path in
            ("\(folder)/\(path)", try Self.text("\(folder)/\(path)"))
        }
    }
}
