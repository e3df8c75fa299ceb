// SPDX-License-Identifier: Apache-2.0

import Basics

/// The path of a request target (RFC 3986 section 3.3), split and then percent-decoded once.
///
/// The result is data: it may hold slashes, dots and anything else but control characters.
enum PathSegments {
    /// Longest decoded segment in Unicode code points, which JSON Schema counts too.
    ///
    /// Ids of peers are the longest names there are; room servers keep them far below.
    static let maximumLength = 512

    /// The segments of a path that begins with a slash; throws `badRequest`.
    static func decode(_ path: String) throws(Problem) -> [String] {
        guard path.utf8.first == UInt8(ascii: "/") else {
            throw Problem(.badRequest, "The path does not begin with a slash.")
        }
        var segments: [String] = []
        for segment in path.utf8.dropFirst().split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false) {
            segments.append(try self.decode(segment: segment))
        }
        return segments
    }

    private static func decode(segment: some Collection<UInt8>) throws(Problem) -> String {
        guard let bytes = PercentCoding.bytes(of: segment) else {
            throw Problem(.badRequest, "The path has a percent sign that is not followed by two hexadecimal digits.")
        }
        // Validation refuses overlong forms, surrogates and cut sequences (RFC 3629 section 3).
        guard let text = String(validating: bytes, as: UTF8.self) else {
            throw Problem(.badRequest, "A part of the path is not UTF-8.")
        }
        guard text.unicodeScalars.count <= self.maximumLength else {
            throw Problem(.badRequest, "A part of the path is longer than \(self.maximumLength) characters.")
        }
        guard bytes.allSatisfy({ $0 >= 0x20 && $0 != 0x7f }) else {
            throw Problem(.badRequest, "A part of the path has control characters.")
        }
        return text
    }
}
