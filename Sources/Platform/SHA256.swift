// SPDX-License-Identifier: Apache-2.0

internal import Basics
internal import COpenSSL

/// The SHA-256 of some bytes (FIPS 180-4).
public struct SHA256Digest: Sendable, Hashable {
    /// 32 bytes.
    public let bytes: [UInt8]

    /// Hashes the bytes.
    public init(of bytes: some Sequence<UInt8>) {
        let hash = SHA256Hash()
        hash.update(Array(bytes))
        self = hash.digest
    }

    init(_ bytes: [UInt8]) {
        self.bytes = bytes
    }

    /// 64 hexadecimal digits, lower case.
    public var hexadecimal: String { Hexadecimal.text(of: self.bytes) }
}

/// A SHA-256 that is fed piece by piece.
///
/// For one thread at a time.
public final class SHA256Hash {
    private let context: OpaquePointer

    /// The hash of nothing.
    public init() {
        guard let context = EVP_MD_CTX_new(), EVP_DigestInit_ex(context, EVP_sha256(), nil) == 1 else {
            preconditionFailure("libcrypto has no SHA-256")
        }
        self.context = context
    }

    deinit {
        EVP_MD_CTX_free(self.context)
    }

    /// Adds bytes.
    public func update(_ bytes: [UInt8]) {
        guard EVP_DigestUpdate(self.context, bytes, bytes.count) == 1 else {
            preconditionFailure("libcrypto cannot hash \(bytes.count) bytes")
        }
    }

    /// Adds bytes.
    public func update(_ bytes: UnsafeRawBufferPointer) {
        guard EVP_DigestUpdate(self.context, bytes.baseAddress, bytes.count) == 1 else {
            preconditionFailure("libcrypto cannot hash \(bytes.count) bytes")
        }
    }

    /// The first eight bytes of the digest of what was added so far, the most significant first; what comes is a new hash.
    ///
    /// For callers that hash millions of short texts: nothing is allocated.
    public func takePrefix() -> UInt64 {
        withUnsafeTemporaryAllocation(byteCount: 32, alignment: 8) { digest in
            let bytes = digest.bindMemory(to: UInt8.self).baseAddress
            guard EVP_DigestFinal_ex(self.context, bytes, nil) == 1, EVP_DigestInit_ex(self.context, nil, nil) == 1
            else {
                preconditionFailure("libcrypto cannot end a hash")
            }
            return UInt64(bigEndian: digest.load(as: UInt64.self))
        }
    }

    /// The digest of what was added so far; more may be added.
    public var digest: SHA256Digest {
        guard let copy = EVP_MD_CTX_new() else { preconditionFailure("no memory for a hash") }
        defer { EVP_MD_CTX_free(copy) }
        var bytes = [UInt8](repeating: 0, count: 32)
        guard EVP_MD_CTX_copy_ex(copy, self.context) == 1, EVP_DigestFinal_ex(copy, &bytes, nil) == 1 else {
            preconditionFailure("libcrypto cannot end a hash")
        }
        return SHA256Digest(bytes)
    }
}
