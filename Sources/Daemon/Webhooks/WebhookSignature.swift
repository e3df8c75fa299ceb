// SPDX-License-Identifier: Apache-2.0

import Basics
import FoundationEssentials
import Platform

/// Says that a delivery is ours and unaltered: `v1=` and the HMAC-SHA-256 (RFC 2104) in hexadecimal digits.
///
/// What is signed is the time stamp as it stands in its header, a full stop, and the body byte for byte. Receivers refuse
/// time stamps that are minutes old, so that a copied delivery cannot be sent again later.
enum WebhookSignature {
    /// The value of the signature's header.
    static func header(secret: String, timestamp: String, body: [UInt8]) -> String {
        let signed = Array(timestamp.utf8) + [UInt8(ascii: ".")] + body
        return "v1=" + Hexadecimal.text(of: MessageAuthentication.sha256(signed, key: Array(secret.utf8)))
    }
}
