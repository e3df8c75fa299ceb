// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing

@testable import GStreamer

@Suite
struct CertificateTests {
    /// The output of `openssl` about the PEM text.
    private func openssl(_ arguments: [String], _ pem: String) throws -> String {
        let file = FileManager.default.temporaryDirectory.appending(path: "tapedeck-\(UUID()).pem")
        try pem.write(to: file, atomically: true, encoding: .utf8)
        defer { try? FileManager.default.removeItem(at: file) }
        let process = Process()
        process.executableURL = URL(filePath: "/usr/bin/openssl")
        process.arguments = arguments + ["-in", file.path]
        let output = Pipe()
        process.standardOutput = output
        process.standardError = FileHandle.nullDevice
        try process.run()
        let data = try output.fileHandleForReading.readToEnd() ?? Data()
        process.waitUntilExit()
        #expect(process.terminationStatus == 0)
        return String(decoding: data, as: UTF8.self)
    }

    @Test
    func isSelfSignedECDSAOnP256() throws {
        let certificate = try Certificate.generate()
        let text = try self.openssl(["x509", "-noout", "-text"], certificate.pem)
        #expect(text.contains("Public Key Algorithm: id-ecPublicKey"))
        #expect(text.contains("ASN1 OID: prime256v1"))
        #expect(text.contains("Signature Algorithm: ecdsa-with-SHA256"))
        #expect(text.contains("Version: 3"))
        // Valid now and for the next 29 days, not for 31.
        _ = try self.openssl(["x509", "-noout", "-checkend", "\(29 * 86_400)"], certificate.pem)
        let key = try self.openssl(["pkey", "-noout", "-text_pub"], certificate.pem)
        #expect(key.contains("ASN1 OID: prime256v1"))
    }

    @Test
    func theKeyBelongsToTheCertificate() throws {
        let certificate = try Certificate.generate()
        let inCertificate = try self.openssl(["x509", "-noout", "-pubkey"], certificate.pem)
        let ofKey = try self.openssl(["pkey", "-pubout"], certificate.pem)
        #expect(inCertificate.contains("BEGIN PUBLIC KEY"))
        #expect(inCertificate == ofKey)
    }

    @Test(arguments: CertificateHash.allCases)
    func digestsLikeOpenSSL(hash: CertificateHash) throws {
        let certificate = try Certificate.generate()
        let text = try self.openssl(["x509", "-noout", "-fingerprint", "-\(hash.rawValue)"], certificate.pem)
        let digest = try #require(certificate.digest(hash))
        let ours = digest.map { ($0 < 16 ? "0" : "") + String($0, radix: 16, uppercase: true) }.joined(separator: ":")
        #expect(text.trimmingCharacters(in: .whitespacesAndNewlines).hasSuffix("=" + ours))
        #expect(Certificate.digest(ofPEM: certificate.pem, hash) == digest)
    }

    @Test(arguments: [
        "", "garbage", "-----BEGIN CERTIFICATE-----\n-----END CERTIFICATE-----\n",
        "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n", "-----BEGIN CERTIFICATE-----\n\u{1F4FC}",
    ])
    func garbageHasNoDigest(pem: String) {
        for hash in CertificateHash.allCases { #expect(Certificate.digest(ofPEM: pem, hash) == nil) }
    }

    @Test
    func aCutCertificateHasNoDigest() throws {
        let pem = try Certificate.generate().pem
        #expect(Certificate.digest(ofPEM: String(pem.prefix(200)), .sha256) == nil)
    }

    @Test
    func twoDiffer() throws {
        let first = try Certificate.generate()
        let second = try Certificate.generate()
        #expect(first.pem != second.pem)
        #expect(first.digest(.sha256) != second.digest(.sha256))
    }
}
