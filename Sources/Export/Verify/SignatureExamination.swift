// SPDX-License-Identifier: Apache-2.0

internal import Basics
public import Platform
public import Storage
public import Timeline

/// Why a certificate is not known to be signed.
public struct SignatureFailure: Error, Sendable, Hashable, CustomStringConvertible {
    /// One sentence for the user, without a full stop.
    public let description: String
}

/// Compares a recording with the certificate that was signed.
public enum SignatureExamination {
    private static let journalName = "journal.jsonl"

    /// Notes in a certificate who signed the one in the folder, and which files are not those of it.
    ///
    /// - Parameter certificate: what the folder's files are now.
    public static func examine(
        _ certificate: inout Certificate,
        of folder: RecordingFolder,
        by key: VerifyingKey
    ) throws(SignatureFailure) {
        let (signed, signature): ([UInt8], [UInt8])
        do throws(StorageError) {
            (signed, signature) = try folder.signedCertificate()
        } catch {
            throw SignatureFailure(description: "the certificate is not signed: \(error.message)")
        }
        guard signature.count == VerifyingKey.signatureLength else {
            throw SignatureFailure(
                description: "\(folder.signaturePath) is no signature: these have \(VerifyingKey.signatureLength) bytes"
            )
        }
        guard key.accepts(signature, of: signed) else {
            throw SignatureFailure(
                description: "\(folder.certificatePath) was changed, or signed with another key than \(key.fingerprint)"
            )
        }
        let hashes = Certificate.hashes(inText: String(decoding: signed, as: UTF8.self))
        // Two names may be printed in the same way.
        let listed = Dictionary(grouping: hashes, by: \.file).mapValues { Set($0.map(\.sha256)) }
        var found: Set<String> = []
        var files = 0
        for file in certificate.files {
            let name = printableName(file.name)
            found.insert(name)
            if let hashes = listed[name], hashes.contains(file.sha256) {
                files += 1
            } else if listed[name] != nil {
                let text = "its SHA-256 is not that of the signed certificate"
                certificate.note(.init(.damage, .fileChanged, file: name, text))
            } else {
                certificate.note(.init(.note, .notSigned, file: name, "the signed certificate does not list it"))
            }
        }
        for file in listed.keys.sorted() where !found.contains(file) {
            // An export may have been deleted since, or not fetched.
            let isOriginal = file == Self.journalName || file.hasPrefix("tracks/")
            let text = "the signed certificate lists it, and it is not there"
            certificate.note(.init(isOriginal ? .damage : .note, .fileMissing, file: file, text))
        }
        certificate.signature = .init(key: key.fingerprint, files: files)
    }
}
