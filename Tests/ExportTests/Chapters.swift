// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing

/// The chapters of a file, as ffprobe reads them.
struct Chapters: Decodable {
    struct Chapter: Decodable {
        var start_time: String
        var tags: [String: String]?
    }

    var chapters: [Chapter]

    static func read(_ path: String) throws -> [(seconds: Double, title: String)] {
        let output = try Command.run("ffprobe", ["-v", "error", "-show_chapters", "-of", "json", path])
        return try JSONDecoder().decode(Chapters.self, from: output.standardOutput).chapters.map {
            (Double($0.start_time) ?? .nan, $0.tags?["title"] ?? "")
        }
    }
}
