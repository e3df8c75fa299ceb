// SPDX-License-Identifier: Apache-2.0

internal import COpenSSL

/// A hash that this host's libcrypto does not have, as one in FIPS mode has no MD5.
public struct MissingHash: Error, Sendable, Hashable, CustomStringConvertible {
    /// The hash, such as `MD5`.
    public let name: String

    /// One sentence for the user, without a full stop.
    public var description: String { "libcrypto has no \(self.name) on this host" }
}

/// Codes that only a holder of the key can make (RFC 2104).
public enum MessageAuthentication {
    /// HMAC-SHA-256: 32 bytes; every libcrypto has it.
    public static func sha256(_ message: [UInt8], key: [UInt8]) -> [UInt8] {
        guard let code = self.code(message, key, EVP_sha256(), count: 32) else {
            preconditionFailure("libcrypto has no SHA-256")
        }
        return code
    }

    /// HMAC-SHA-1: 20 bytes, for STUN (RFC 8489 section 14.5) and nothing new.
    public static func sha1(_ message: [UInt8], key: [UInt8]) throws(MissingHash) -> [UInt8] {
        guard let code = self.code(message, key, EVP_sha1(), count: 20) else { throw MissingHash(name: "SHA-1") }
        return code
    }

    /// Nil if libcrypto does not have the hash.
    static func code(_ message: [UInt8], _ key: [UInt8], _ hash: OpaquePointer?, count: Int) -> [UInt8]? {
        var code = [UInt8](repeating: 0, count: count)
        guard HMAC(hash, key, Int32(key.count), message, message.count, &code, nil) != nil else { return nil }
        return code
    }
}

/// The MD5 of the bytes, 16 of them: for the keys of STUN (RFC 8489 section 9.2.2) and nothing new.
public func md5(_ bytes: [UInt8]) throws(MissingHash) -> [UInt8] {
    try md5(bytes, EVP_md5())
}

func md5(_ bytes: [UInt8], _ hash: OpaquePointer?) throws(MissingHash) -> [UInt8] {
    var digest = [UInt8](repeating: 0, count: 16)
    guard EVP_Digest(bytes, bytes.count, &digest, nil, hash, nil) == 1 else { throw MissingHash(name: "MD5") }
    return digest
}
