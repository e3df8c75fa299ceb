// SPDX-License-Identifier: Apache-2.0

import Basics
import Foundation
import Platform
import Testing

@Suite final class Ed25519Tests {
    /// RFC 8032 section 7.1, tests 1 to 3: private key, public key, message, signature.
    private static let vectors: [(String, String, String, String)] = [
        (
            "9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60",
            "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a",
            "",
            "e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e065224901555fb8821590a33bacc61e39701cf9b46bd25b"
                + "f5f0595bbe24655141438e7a100b"
        ),
        (
            "4ccd089b28ff96da9db6c346ec114e0f5b8a319f35aba624da8cf6ed4fb8a6fb",
            "3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c",
            "72",
            "92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da085ac1e43e15996e458f3613d0f11d8c387b"
                + "2eaeb4302aeeb00d291612bb0c00"
        ),
        (
            "c5aa8df43f9f837bedb7442f31dcb7b166d38535076f094b85ce3a2e0b4458f7",
            "fc51cd8e6218a1a38da47ed00230f0580816ed13ba3303ac5deb911548908025",
            "af82",
            "6291d657deec24024827e69c3abe01a30ce548a284743a445e3680d7db5ac3ac18ff9b538d16f290ae67f760984dc6594a7c"
                + "15e9716ed28dc027beceea1ec40a"
        ),
    ]

    private let folder = FileManager.default.temporaryDirectory.appending(path: "tapedeck-keys-\(UUID())")

    init() throws {
        try FileManager.default.createDirectory(at: self.folder, withIntermediateDirectories: true)
    }

    deinit {
        try? FileManager.default.removeItem(at: self.folder)
    }

    private static func bytes(_ digits: String) -> [UInt8] {
        stride(from: 0, to: digits.count, by: 2).compactMap { UInt8(digits.dropFirst($0).prefix(2), radix: 16) }
    }

    /// A file with a key as RFC 8410 has it in DER, and RFC 7468 in text.
    private func file(_ label: String, _ head: String, _ key: String) throws -> String {
        let text = Data(Self.bytes(head + key)).base64EncodedString()
        return try self.file("-----BEGIN \(label)-----\n\(text)\n-----END \(label)-----\n")
    }

    private func file(_ text: String) throws -> String {
        let file = self.folder.appending(path: "\(UUID()).pem")
        try Data(text.utf8).write(to: file)
        return file.path()
    }

    private func privateFile(_ key: String) throws -> String {
        try self.file("PRIVATE KEY", "302e020100300506032b657004220420", key)
    }

    private func publicFile(_ key: String) throws -> String {
        try self.file("PUBLIC KEY", "302a300506032b6570032100", key)
    }

    @Test func signsAsTheStandardSays() throws {
        for (secret, open, message, expected) in Self.vectors {
            let (key, message) = (try SigningKey(file: try self.privateFile(secret)), Self.bytes(message))
            let signature = try #require(key.signature(of: message))
            #expect(Hexadecimal.text(of: signature) == expected)
            let verifying = try VerifyingKey(file: try self.publicFile(open))
            #expect(verifying.accepts(signature, of: message))
            #expect(verifying.fingerprint == key.fingerprint && key.fingerprint.count == 64)
            #expect(!verifying.accepts(signature, of: message + [0]))
            #expect(!verifying.accepts([], of: message))
            #expect(!verifying.accepts(signature.dropLast(), of: message))
            #expect(!verifying.accepts(signature + [0], of: message))
            for index in [0, 31, 32, 63] {
                var changed = signature
                changed[index] ^= 1
                #expect(!verifying.accepts(changed, of: message))
            }
        }
    }

    @Test func aKeyOfAnotherPersonAcceptsNothing() throws {
        let key = try SigningKey(file: try self.privateFile(Self.vectors[0].0))
        let other = try VerifyingKey(file: try self.publicFile(Self.vectors[1].1))
        #expect(!other.accepts(try #require(key.signature(of: [1, 2])), of: [1, 2]))
        #expect(other.fingerprint != key.fingerprint)
    }

    @Test func whatIsNoKeyIsOneSentence() throws {
        let secret = try self.privateFile(Self.vectors[0].0)
        let open = try self.publicFile(Self.vectors[0].1)
        // X25519 (RFC 8410), which agrees on keys and signs nothing.
        let other = try self.file("PRIVATE KEY", "302e020100300506032b656e04220420", Self.vectors[0].0)
        let otherOpen = try self.file("PUBLIC KEY", "302a300506032b656e032100", Self.vectors[0].1)
        let empty = try self.file("")
        let text = try self.file(String(repeating: "-----BEGIN PRIVATE KEY-----\n", count: 9000))
        let missing = self.folder.path() + "/missing.pem"
        let rows: [(path: String, signing: String, verifying: String)] = [
            (open, "is not a private key without a passphrase in PEM", ""),
            (secret, "", "is not a public key in PEM"),
            (other, "is a key of another kind than Ed25519", "is not a public key in PEM"),
            (otherOpen, "is not a private key without a passphrase in PEM", "is a key of another kind than Ed25519"),
            (empty, "is not a private key without a passphrase in PEM", "is not a public key in PEM"),
            (text, "is not a private key without a passphrase in PEM", "is not a public key in PEM"),
            (missing, "cannot be read: No such file or directory", "cannot be read: No such file or directory"),
            (self.folder.path(), "is not a regular file", "is not a regular file"),
            ("/dev/zero", "is not a regular file", "is not a regular file"),
        ]
        for row in rows {
            let signing = Self.failure { () throws(KeyFailure) in _ = try SigningKey(file: row.path) }
            let verifying = Self.failure { () throws(KeyFailure) in _ = try VerifyingKey(file: row.path) }
            #expect(signing?.description ?? "" == (row.signing.isEmpty ? "" : "\(row.path) \(row.signing)"))
            #expect(verifying?.description ?? "" == (row.verifying.isEmpty ? "" : "\(row.path) \(row.verifying)"))
        }
    }

    private static func failure(_ body: () throws(KeyFailure) -> Void) -> KeyFailure? {
        do throws(KeyFailure) {
            try body()
            return nil
        } catch {
            return error
        }
    }
}
