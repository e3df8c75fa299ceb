// SPDX-License-Identifier: Apache-2.0

extension String {
    /// The text with everything escaped, in upper case, but letters, digits, `- . _ ~` (RFC 3986 section 2.3) and what is
    /// to be kept, which is ASCII.
    public func percentEncoded(keeping kept: String = "") -> String {
        let plain = ("-._~" + kept).utf8
        var encoded = ""
        for byte in self.utf8 {
            switch byte {
            case 0x30...0x39, 0x41...0x5A, 0x61...0x7A: encoded.unicodeScalars.append(Unicode.Scalar(byte))
            case _ where plain.contains(byte): encoded.unicodeScalars.append(Unicode.Scalar(byte))
            default:
                encoded += byte < 16 ? "%0" : "%"
                encoded += String(byte, radix: 16, uppercase: true)
            }
        }
        return encoded
    }
}
