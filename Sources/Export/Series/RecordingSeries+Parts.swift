// SPDX-License-Identifier: Apache-2.0

import Storage
import Timeline

extension RecordingSeries {
    /// The most segments that a text names.
    private static let mostNamed = 20

    /// The host and the epoch of each segment that an export was made of, human-readable.
    ///
    /// - Parameter recordings: the ids of the recordings that it was made of; `nil` for all that are there.
    func parts(of recordings: [String]?) -> String {
        let made = self.segments.filter { recordings?.contains($0.folder.id.rawValue) ?? true }
        let named = made.prefix(Self.mostNamed).map { segment in
            "segment \(segment.number) (host \(printableName(segment.host, limit: 48)), epoch \(segment.epoch))"
        }
        let more = made.count - named.count
        return "made of \(named.joined(separator: ", "))" + (more > 0 ? " and \(more) more" : "")
    }
}
