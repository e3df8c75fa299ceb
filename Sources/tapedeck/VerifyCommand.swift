// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Export
import Foundation
import Platform
import Rendering
import Storage
import Timeline

/// `tapedeck verify`.
struct VerifyCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "verify",
        abstract: "Check a recording: what was received, what is missing, and whether its files were changed.",
        discussion: """
            Reads every file once and writes nothing. Ends with exit code 0 if the recording is complete, also with \
            gaps, which are listed; with 5 if it is damaged. With --key it also ends with 5 unless certificate.txt has a \
            signature of that key, and the files are those that it lists.

            Example: tapedeck verify k3v9q2wtb4n50xjc --directory /var/lib/tapedeck
            Example: tapedeck verify --decode recordings/standup/20261121T031226Z-k3v9q2wtb4n50xjc
            Example: tapedeck verify k3v9 --key public.pem
            Example: tapedeck verify --json call.mkv
            """
    )

    @Argument(help: "The recording's id, the beginning of it, its folder, or a file.")
    var recording: String

    @OptionGroup var storage: StorageOptions

    @Flag(
        help: "Decode every track with ffmpeg; report errors, frozen and black video, silence. Takes longer."
    )
    var decode = false

    @Option(help: "PEM file of a public key: check that certificate.txt was signed with its private key.")
    var key: String?

    @OptionGroup var common: CommonOptions

    mutating func run() async throws {
        do {
            let key = try self.key.map { try VerifyingKey(file: $0) }
            let ffmpeg = self.decode ? try await FFmpeg() : nil
            var (certificate, path) = try self.certificate()
            var unsigned: SignatureFailure?
            if let key {
                guard let folder = try self.folder() else {
                    throw CommandFailure(.usage, "--key takes a recording: a single file has no certificate")
                }
                do throws(SignatureFailure) {
                    try SignatureExamination.examine(&certificate, of: folder, by: key)
                } catch {
                    unsigned = error
                }
            }
            var failure: FFmpeg.Failure?
            do {
                if let ffmpeg { certificate = try await ffmpeg.examine(certificate, path: path) }
            } catch let reason as FFmpeg.Failure {
                // What is reported without it is reported all the same.
                failure = reason
            }
            if self.common.json {
                try Output.json(certificate)
            } else {
                Output.result(String(certificate.text.dropLast()))
            }
            if let failure { throw failure }
            if let unsigned { throw CommandFailure(.incomplete, unsigned.description) }
            guard certificate.verdict != .damaged else {
                let damage = certificate.findings(.damage)
                let first = damage.first.map { "\($0.file.map { "\($0): " } ?? "")\($0.text)" } ?? ""
                let more = damage.count > 1 ? ", and \(damage.count - 1) more" : ""
                throw CommandFailure(.incomplete, "damaged: \(first)\(more)")
            }
        } catch let failure as FFmpeg.Failure {
            throw CommandFailure(.usage, failure.description)
        } catch {
            throw CommandFailure(error)
        }
    }

    /// The certificate, and where a file of it is.
    private func certificate() throws -> (Certificate, (String) -> String) {
        guard let folder = try self.folder() else {
            let path = self.recording
            return (try FileExamination.certificate(file: path), { _ in path })
        }
        return (
            try RecordingExamination.certificate(of: folder),
            { $0.hasPrefix("/") ? $0 : folder.path + "/" + $0 }
        )
    }

    /// The recording's folder; `nil` for a single file.
    private func folder() throws -> RecordingFolder? {
        var isDirectory: ObjCBool = false
        if FileManager.default.fileExists(atPath: self.recording, isDirectory: &isDirectory), !isDirectory.boolValue {
            return nil
        }
        return try RecordingFolder.find(storage: try self.storage.directory, self.recording)
    }
}
