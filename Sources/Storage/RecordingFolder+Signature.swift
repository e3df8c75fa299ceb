// SPDX-License-Identifier: Apache-2.0

import Glibc
public import Platform

extension RecordingFolder {
    /// A longer certificate is neither signed nor read.
    private static let mostBytesOfCertificate = 64 << 20
    /// How often the certificate is signed if it is replaced each time.
    private static let mostAttempts = 3

    /// The certificate's signature: 64 bytes (Ed25519).
    public var signaturePath: String { self.certificatePath + ".sig" }

    /// The certificate as it is, and its signature; throws `notFound` if one of them is not there.
    public func signedCertificate() throws(StorageError) -> (certificate: [UInt8], signature: [UInt8]) {
        // One byte more than it has shows that a file is not a signature.
        let signature = try File(self.signaturePath, .read).readAll(limit: VerifyingKey.signatureLength + 1)
        return (try self.certificate(), signature)
    }

    /// Signs a certificate that has no signature; whether it did.
    ///
    /// A signature that is there stays, also one that does not fit: a certificate that was changed is not made good. Code that
    /// writes a certificate removes the signature of the one before. A certificate that is older than the journal is of a
    /// recording in progress, and is not signed.
    public func sign(with key: SigningKey) throws(StorageError) -> Bool {
        guard access(self.signaturePath, F_OK) != 0 else { return false }
        if let journal = Self.modified(self.journalPath), let certificate = Self.modified(self.certificatePath) {
            guard certificate >= journal else { return false }
        }
        for _ in 0..<Self.mostAttempts {
            let certificate: [UInt8]
            do throws(StorageError) {
                certificate = try self.certificate()
            } catch {
                guard error.code == .notFound else { throw error }
                return false
            }
            guard let signature = key.signature(of: certificate) else {
                throw StorageError(.system, "libcrypto has no Ed25519 on this host", path: self.signaturePath)
            }
            try File.replace(self.signaturePath, with: signature)
            // A process may have replaced it since it was read.
            if try self.certificate() == certificate { return true }
            try self.removeSignature()
        }
        return false
    }

    /// Removes the signature, if there is one.
    public func removeSignature() throws(StorageError) {
        guard unlink(self.signaturePath) == 0 || errno == ENOENT || errno == ENOTDIR else {
            throw StorageError(errorNumber: errno, action: "delete", path: self.signaturePath)
        }
    }

    private static func modified(_ path: String) -> (Int, Int)? {
        var status = stat()
        return lstat(path, &status) == 0 ? (status.st_mtim.tv_sec, status.st_mtim.tv_nsec) : nil
    }

    private func certificate() throws(StorageError) -> [UInt8] {
        let bytes = try File(self.certificatePath, .read).readAll(limit: Self.mostBytesOfCertificate + 1)
        guard bytes.count <= Self.mostBytesOfCertificate else {
            throw StorageError(.invalid, "\(self.certificatePath) is too long", path: self.certificatePath)
        }
        return bytes
    }
}
