// SPDX-License-Identifier: Apache-2.0

/// The path of a request target (RFC 3986 section 3.3), split and then percent-decoded once.
///
/// What comes out is data: it may hold slashes, dots and anything else but control characters.
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
        guard let bytes = percentDecoded(segment) else {
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

/// The bytes that a percent-encoded text stands for (RFC 3986 section 2.1); `nil` if an encoding is broken.
func percentDecoded(_ text: some Collection<UInt8>) -> [UInt8]? {
    var bytes: [UInt8] = []
    bytes.reserveCapacity(text.count)
    var rest = text.makeIterator()
    while let byte = rest.next() {
        guard byte == UInt8(ascii: "%") else {
            bytes.append(byte)
            continue
        }
        guard let high = rest.next().flatMap(hexadecimalDigit), let low = rest.next().flatMap(hexadecimalDigit) else {
            return nil
        }
        bytes.append(high << 4 | low)
    }
    return bytes
}

private func hexadecimalDigit(_ byte: UInt8) -> UInt8? {
    switch byte {
    case UInt8(ascii: "0")...UInt8(ascii: "9"): byte - UInt8(ascii: "0")
    case UInt8(ascii: "a")...UInt8(ascii: "f"): byte - UInt8(ascii: "a") + 10
    case UInt8(ascii: "A")...UInt8(ascii: "F"): byte - UInt8(ascii: "A") + 10
    default: nil
    }
}
