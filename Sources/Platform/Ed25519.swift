// SPDX-License-Identifier: Apache-2.0

internal import Basics
internal import COpenSSL
internal import Glibc

/// A file that does not hold the key that it should.
public struct KeyFailure: Error, Sendable, Hashable, CustomStringConvertible {
    /// One sentence for the user, without a full stop, and without anything of the key.
    public let description: String
}

/// A private key that signs (Ed25519, RFC 8032), from a PEM file as `openssl genpkey -algorithm ed25519` writes it.
public struct SigningKey {
    private let key: Ed25519Key

    /// Reads a file; blocks as long as its disk does.
    public init(file path: String) throws(KeyFailure) {
        // The callback is asked for the passphrase of a key that has one: without it libcrypto asks the terminal.
        self.key = try Ed25519Key(file: path, holding: "private key without a passphrase") { bio in
            PEM_read_bio_PrivateKey(bio, nil, { _, _, _, _ in -1 }, nil)
        }
    }

    /// The SHA-256 of the public key in DER (SubjectPublicKeyInfo), in 64 hexadecimal digits.
    public var fingerprint: String { self.key.fingerprint }

    /// 64 bytes (PureEdDSA), the same for the same message; `nil` if this host's libcrypto does not sign.
    public func signature(of message: [UInt8]) -> [UInt8]? {
        guard let context = EVP_MD_CTX_new() else { return nil }
        defer { EVP_MD_CTX_free(context) }
        var signature = [UInt8](repeating: 0, count: VerifyingKey.signatureLength)
        var count = signature.count
        guard EVP_DigestSignInit(context, nil, nil, nil, self.key.pointer) == 1,
            EVP_DigestSign(context, &signature, &count, message, message.count) == 1, count == signature.count
        else {
            ERR_clear_error()
            return nil
        }
        return signature
    }
}

/// A public key, which shows what was signed with its private one, from a PEM file as `openssl pkey -pubout` writes it.
public struct VerifyingKey {
    /// The bytes of each signature.
    public static let signatureLength = 64

    private let key: Ed25519Key

    /// Reads a file; blocks as long as its disk does.
    public init(file path: String) throws(KeyFailure) {
        self.key = try Ed25519Key(file: path, holding: "public key") { PEM_read_bio_PUBKEY($0, nil, nil, nil) }
    }

    /// The SHA-256 of the key in DER (SubjectPublicKeyInfo), in 64 hexadecimal digits.
    public var fingerprint: String { self.key.fingerprint }

    /// Whether these bytes, whatever they are, are the signature of a message.
    public func accepts(_ signature: [UInt8], of message: [UInt8]) -> Bool {
        guard signature.count == Self.signatureLength, let context = EVP_MD_CTX_new() else { return false }
        defer {
            EVP_MD_CTX_free(context)
            ERR_clear_error()
        }
        return EVP_DigestVerifyInit(context, nil, nil, nil, self.key.pointer) == 1
            && EVP_DigestVerify(context, signature, signature.count, message, message.count) == 1
    }
}

/// A key of libcrypto, which changes nothing in it after it was read.
private final class Ed25519Key {
    private static let mostBytes = 16 << 10

    let pointer: OpaquePointer

    /// - Parameter what: the kind of key that the file should hold, for a person.
    init(file path: String, holding what: String, _ parse: (OpaquePointer) -> OpaquePointer?) throws(KeyFailure) {
        var bytes = try Self.bytes(path)
        defer { OPENSSL_cleanse(&bytes, bytes.count) }
        let found = bytes.withUnsafeBytes { buffer -> OpaquePointer? in
            guard let bio = BIO_new_mem_buf(buffer.baseAddress, Int32(buffer.count)) else { return nil }
            defer { BIO_free(bio) }
            return parse(bio)
        }
        ERR_clear_error()
        guard let found else { throw KeyFailure(description: "\(path) is not a \(what) in PEM") }
        guard EVP_PKEY_is_a(found, "ED25519") == 1 else {
            EVP_PKEY_free(found)
            throw KeyFailure(description: "\(path) is a key of another kind than Ed25519")
        }
        self.pointer = found
    }

    deinit { EVP_PKEY_free(self.pointer) }

    var fingerprint: String {
        var bytes = [UInt8](repeating: 0, count: Int(max(0, i2d_PUBKEY(self.pointer, nil))))
        bytes.withUnsafeMutableBufferPointer { buffer in
            var place = buffer.baseAddress
            _ = i2d_PUBKEY(self.pointer, &place)
        }
        return SHA256Digest(of: bytes).hexadecimal
    }

    /// The beginning of a regular file; a longer one is none that holds a key.
    private static func bytes(_ path: String) throws(KeyFailure) -> [UInt8] {
        // Without waiting: opening a pipe that nothing writes to would block.
        let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard descriptor >= 0 else { throw Self.failure(path) }
        defer { close(descriptor) }
        var status = stat()
        guard fstat(descriptor, &status) == 0 else { throw Self.failure(path) }
        guard status.st_mode & S_IFMT == S_IFREG else { throw KeyFailure(description: "\(path) is not a regular file") }
        var bytes = [UInt8](repeating: 0, count: Self.mostBytes)
        let count = pread(descriptor, &bytes, bytes.count, 0)
        guard count >= 0 else { throw Self.failure(path) }
        bytes.removeLast(bytes.count - count)
        return bytes
    }

    private static func failure(_ path: String) -> KeyFailure {
        KeyFailure(description: "\(path) cannot be read: \(String(cString: strerror(errno)))")
    }
}
