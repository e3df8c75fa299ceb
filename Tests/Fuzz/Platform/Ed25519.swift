// SPDX-License-Identifier: Apache-2.0

/// A stand-in for the module over libcrypto: keys that no fuzz target has.
public struct SigningKey {
    private init() {}

    /// Of no key.
    public var fingerprint: String { String(repeating: "0", count: 64) }

    /// Signs nothing.
    public func signature(of message: [UInt8]) -> [UInt8]? { nil }
}

/// A stand-in for the module over libcrypto: keys that no fuzz target has.
public struct VerifyingKey {
    /// The bytes of each signature.
    public static let signatureLength = 64

    private init() {}

    /// Of no key.
    public var fingerprint: String { String(repeating: "0", count: 64) }

    /// Accepts nothing.
    public func accepts(_ signature: [UInt8], of message: [UInt8]) -> Bool { false }
}
