// SPDX-License-Identifier: Apache-2.0

import Crypto
import FoundationEssentials

/// Says that a delivery is ours and unaltered: `v1=` and the HMAC-SHA-256 (RFC 2104) in hexadecimal digits.
///
/// What is signed is the time stamp as it stands in its header, a full stop, and the body byte for byte. Receivers refuse
/// time stamps that are minutes old, so that a delivery that somebody copied cannot be sent again later.
public enum WebhookSignature {
    /// The value of the signature's header.
    public static func header(secret: String, timestamp: String, body: [UInt8]) -> String {
        let signed = Array(timestamp.utf8) + [UInt8(ascii: ".")] + body
        let code = HMAC<SHA256>.authenticationCode(for: signed, using: SymmetricKey(data: Array(secret.utf8)))
        return "v1=" + hexadecimal(code)
    }
}

/// Two lower-case digits for each byte.
func hexadecimal(_ bytes: some Sequence<UInt8>) -> String {
    bytes.map { byte in
        let digits = String(byte, radix: 16)
        return digits.count == 1 ? "0" + digits : digits
    }.joined()
}
