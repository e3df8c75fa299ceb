// SPDX-License-Identifier: Apache-2.0

import Foundation
import Platform
import Storage
import TestSupport
import Testing

@Suite struct SignatureTests {
    /// RFC 8032 section 7.1, test 1, as RFC 8410 has it.
    private static let secret = "MC4CAQAwBQYDK2VwBCIEIJ1hsZ3v/VpguoRK9JLsLMREScVpezJpGXA7rAMcrn9g"
    private static let open = "MCowBQYDK2VwAyEA11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo="

    private let storage: TemporaryStorage
    private let folder: RecordingFolder
    private let key: SigningKey
    private let verifying: VerifyingKey

    init() throws {
        self.storage = try TemporaryStorage()
        self.folder = try self.storage.makeFolder()
        let (secret, open) = (self.storage.path + "/secret.pem", self.storage.path + "/open.pem")
        try Self.write("-----BEGIN PRIVATE KEY-----\n\(Self.secret)\n-----END PRIVATE KEY-----\n", secret)
        try Self.write("-----BEGIN PUBLIC KEY-----\n\(Self.open)\n-----END PUBLIC KEY-----\n", open)
        self.key = try SigningKey(file: secret)
        self.verifying = try VerifyingKey(file: open)
    }

    private static func write(_ text: String, _ path: String) throws {
        try Data(text.utf8).write(to: URL(filePath: path))
    }

    private func isSigned() throws -> Bool {
        let (certificate, signature) = try self.folder.signedCertificate()
        return self.verifying.accepts(signature, of: certificate)
    }

    @Test func aCertificateIsSignedOnce() throws {
        #expect(try !self.folder.sign(with: self.key), "there is none")
        try Self.write("verdict:    complete\n", self.folder.certificatePath)
        #expect(try self.folder.sign(with: self.key))
        #expect(try self.isSigned())
        #expect(try !self.folder.sign(with: self.key))
        // A change is not made good.
        try Self.write("verdict:    complete!\n", self.folder.certificatePath)
        #expect(try !self.folder.sign(with: self.key))
        #expect(try !self.isSigned())
        try self.folder.removeSignature()
        try self.folder.removeSignature()
        #expect(throws: StorageError.self) { try self.folder.signedCertificate() }
        #expect(try self.folder.sign(with: self.key))
        #expect(try self.isSigned())
    }

    @Test func aCertificateOfARecordingInProgressIsNotSigned() throws {
        try Self.write("verdict:    damaged\n", self.folder.certificatePath)
        try Self.write("{}\n", self.folder.journalPath)
        let past = Date(timeIntervalSince1970: 1_000_000)
        try FileManager.default.setAttributes([.modificationDate: past], ofItemAtPath: self.folder.certificatePath)
        #expect(try !self.folder.sign(with: self.key))
        try Self.write("verdict:    complete\n", self.folder.certificatePath)
        #expect(try self.folder.sign(with: self.key))
    }

    @Test func aSignatureThatIsTooLongIsSeen() throws {
        try Self.write("verdict:    complete\n", self.folder.certificatePath)
        try Self.write(String(repeating: "x", count: 1000), self.folder.signaturePath)
        #expect(try self.folder.signedCertificate().signature.count == VerifyingKey.signatureLength + 1)
        #expect(try !self.isSigned())
    }

    @Test func aLinkIsNotFollowed() throws {
        try Self.write("x", self.storage.path + "/outside")
        try FileManager.default.createSymbolicLink(
            atPath: self.folder.certificatePath,
            withDestinationPath: self.storage.path + "/outside"
        )
        #expect(throws: StorageError.self) { try self.folder.sign(with: self.key) }
    }
}
