// SPDX-License-Identifier: Apache-2.0

/// Percent-encoding (RFC 3986 section 2.1).
public enum PercentCoding {
    /// Faults that a reader accepts in addition to correct sequences.
    public struct Leniency: OptionSet, Sendable {
        /// The bits.
        public let rawValue: Int

        /// Any combination.
        public init(rawValue: Int) { self.rawValue = rawValue }

        /// `+` means a space, as in HTML forms.
        public static let plusIsSpace = Leniency(rawValue: 1)
        /// A percent sign without two digits means itself.
        public static let brokenSequences = Leniency(rawValue: 2)
    }

    /// The decoded bytes of a text; nil if a sequence is broken.
    public static func bytes(of text: some Sequence<UInt8>, taking leniency: Leniency = []) -> [UInt8]? {
        let text = Array(text)
        var bytes: [UInt8] = []
        bytes.reserveCapacity(text.count)
        var index = 0
        while index < text.count {
            let byte = text[index]
            index += 1
            if byte == UInt8(ascii: "+"), leniency.contains(.plusIsSpace) {
                bytes.append(UInt8(ascii: " "))
            } else if byte != UInt8(ascii: "%") {
                bytes.append(byte)
            } else if text.count - index >= 2, let high = Hexadecimal.value(of: text[index]),
                let low = Hexadecimal.value(of: text[index + 1])
            {
                bytes.append(high << 4 | low)
                index += 2
            } else {
                guard leniency.contains(.brokenSequences) else { return nil }
                bytes.append(byte)
            }
        }
        return bytes
    }

    /// The decoded text; nil if a sequence is broken or the bytes are not UTF-8.
    public static func decode(_ text: some StringProtocol, taking leniency: Leniency = []) -> String? {
        self.bytes(of: text.utf8, taking: leniency).flatMap { String(validating: $0, as: UTF8.self) }
    }

    /// Encodes everything but unreserved characters (RFC 3986 section 2.3) and the given ones, which are ASCII.
    public static func encode(_ text: some StringProtocol, keeping kept: String = "") -> String {
        let plain = ("-._~" + kept).utf8
        return text.utf8.reduce(into: "") { encoded, byte in
            switch byte {
            case 0x30...0x39, 0x41...0x5A, 0x61...0x7A: encoded.unicodeScalars.append(Unicode.Scalar(byte))
            case _ where plain.contains(byte): encoded.unicodeScalars.append(Unicode.Scalar(byte))
            default: encoded += "%" + Hexadecimal.text(byte, uppercase: true)
            }
        }
    }

    /// Keeps what is printable ASCII as it was written, and encodes the rest.
    public static func ascii(_ text: some StringProtocol) -> String {
        self.encode(text, keeping: String(decoding: UInt8(0x21)...UInt8(0x7E), as: UTF8.self))
    }
}
