// SPDX-License-Identifier: Apache-2.0

internal import COpenSSL

/// Codes that only somebody with the key can make (RFC 2104).
public enum MessageAuthentication {
    /// HMAC-SHA-256: 32 bytes.
    public static func sha256(_ message: [UInt8], key: [UInt8]) -> [UInt8] {
        self.code(message, key, EVP_sha256(), count: 32)
    }

    /// HMAC-SHA-1: 20 bytes, for STUN (RFC 8489 section 14.5) and nothing new.
    public static func sha1(_ message: [UInt8], key: [UInt8]) -> [UInt8] {
        self.code(message, key, EVP_sha1(), count: 20)
    }

    private static func code(_ message: [UInt8], _ key: [UInt8], _ hash: OpaquePointer?, count: Int) -> [UInt8] {
        var code = [UInt8](repeating: 0, count: count)
        guard HMAC(hash, key, Int32(key.count), message, message.count, &code, nil) != nil else {
            preconditionFailure("libcrypto cannot authenticate \(message.count) bytes")
        }
        return code
    }
}

/// The MD5 of the bytes, 16 of them: for the keys of STUN (RFC 8489 section 9.2.2) and nothing new.
public func md5(_ bytes: [UInt8]) -> [UInt8] {
    var digest = [UInt8](repeating: 0, count: 16)
    guard EVP_Digest(bytes, bytes.count, &digest, nil, EVP_md5(), nil) == 1 else {
        preconditionFailure("libcrypto has no MD5")
    }
    return digest
}
