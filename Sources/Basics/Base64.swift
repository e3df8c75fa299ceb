// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials

/// Base64 of RFC 4648 section 4.
public enum Base64 {
    /// Encodes with padding.
    public static func encode(_ bytes: [UInt8]) -> String {
        Data(bytes).base64EncodedString()
    }

    /// Decodes; nil if the text is not Base64.
    public static func decode(_ text: some Collection<UInt8>) -> [UInt8]? {
        Data(base64Encoded: Data(text)).map { [UInt8]($0) }
    }
}
