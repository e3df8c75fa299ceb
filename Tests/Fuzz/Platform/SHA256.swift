// SPDX-License-Identifier: Apache-2.0

/// A stand-in for the module over libcrypto, with as much of it as `Storage` uses.
///
/// It is quick to build and to run, and the fuzzer can find lines that chain, which no real hash would let it.
public struct SHA256Digest {
    fileprivate let value: UInt8

    /// The same digit again and again.
    public var hexadecimal: String { String(repeating: String(self.value, radix: 16), count: 64) }
}

/// A hash of 16 values that is fed piece by piece.
public final class SHA256Hash {
    private var value: UInt8 = 0

    /// The hash of nothing.
    public init() {}

    /// Adds bytes.
    public func update(_ bytes: [UInt8]) {
        for byte in bytes { self.value &+= byte }
    }

    /// Adds bytes.
    public func update(_ bytes: UnsafeRawBufferPointer) {
        for byte in bytes { self.value &+= byte }
    }

    /// The same digit sixteen times; later bytes are hashed from the beginning.
    public func takePrefix() -> UInt64 {
        defer { self.value = 0 }
        return 0x1111_1111_1111_1111 * UInt64(self.value & 0x0F)
    }

    /// The digest so far.
    public var digest: SHA256Digest { SHA256Digest(value: self.value & 0x0F) }
}
