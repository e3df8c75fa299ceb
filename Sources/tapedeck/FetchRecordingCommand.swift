// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Basics
import ConfigurationFile
import Delivery
import Export
import Foundation
import Model
import Storage
import Timeline

/// `tapedeck recordings fetch`.
struct FetchRecordingCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "fetch",
        abstract: "Bring an uploaded recording back from the remote, and check it.",
        discussion: """
            Looks through the whole remote of `storage.upload` for the recording, copies its files to the storage \
            directory, and checks them as `tapedeck verify` does: exit code 5 if the recording is damaged. A recording that \
            is there already is left as it is. An attempt that was interrupted resumes where it stopped.

            Example: sudo -u tapedeck tapedeck recordings fetch k3v9q2wtb4n50xjc
            """
    )

    @Argument(help: "The recording's id, or the beginning of it.")
    var id: String

    @OptionGroup var storage: StorageOptions

    @OptionGroup var common: CommonOptions

    private struct Fetched: Encodable {
        var fetched: String
        var folder: String
        var verdict: String
    }

    mutating func run() async throws {
        do {
            let rclone = Rclone(try self.spec())
            let directory = try self.storage.directory
            guard !self.id.isEmpty,
                self.id.utf8.allSatisfy({ (0x30...0x39).contains($0) || (0x61...0x7A).contains($0) })
            else {
                throw CommandFailure(.usage, "\(self.id) is not the id of a recording, or the beginning of one")
            }
            let place = try await self.find(rclone)
            let folder = try await self.fetch(place, rclone, directory)
            let certificate = try RecordingExamination.certificate(of: folder)
            if self.common.json {
                let (id, verdict) = (folder.id.rawValue, certificate.verdict.rawValue)
                try Output.json(Fetched(fetched: id, folder: folder.path, verdict: verdict))
            } else {
                Output.result("\(folder.path): \(certificate.verdict.title)")
            }
            guard certificate.verdict != .damaged else {
                throw CommandFailure(.incomplete, "the recording that was fetched is damaged: see tapedeck verify")
            }
        } catch let failure as RemoteFailure {
            throw CommandFailure(
                failure.kind == .name || failure.kind == .program ? .usage : .unavailable,
                "\(failure)"
            )
        } catch {
            throw CommandFailure(error)
        }
    }

    private func spec() throws -> UploadSpec {
        guard let upload = try self.storage.configuration.places()?.storage.upload else {
            throw CommandFailure(.usage, "the configuration has no storage.upload: --config names the file that has it")
        }
        return upload
    }

    /// Where the recording is.
    private func find(_ rclone: Rclone) async throws -> String {
        let found = try await rclone.folders(ofRecording: self.id)
        guard let place = found.first else {
            throw CommandFailure(.usage, "the remote has no recording \(self.id)")
        }
        // One that is at several places is the same recording: the newest counts.
        let count = Set(found.map { $0.split(separator: "/").last }).count
        guard count == 1 else {
            throw CommandFailure(.usage, "\(count) recordings begin with \(self.id): give more of the id")
        }
        return place
    }

    /// Copies a recording into its room's folder; it gets its name when it is whole.
    private func fetch(_ place: String, _ rclone: Rclone, _ directory: String) async throws -> RecordingFolder {
        let manifest = try JSONDecoder().decode(
            Manifest.self,
            from: Data(try await rclone.read(place + "/manifest.json"))
        )
        let room = directory + "/recordings/" + Sanitiser.pathComponent(manifest.room, fallback: "room")
        let name = String(place.split(separator: "/").last ?? "")
        guard let id = name.split(separator: "-").last, id == manifest.id.rawValue else {
            throw CommandFailure(.incomplete, "\(place) has the manifest of another recording")
        }
        let path = "\(room)/\(name)"
        guard !FileManager.default.fileExists(atPath: path) else {
            throw CommandFailure(.usage, "\(path) is there already")
        }
        try RecordingFolder.makeStorage(directory)
        let partial = "\(room)/.fetching-\(name)"
        try FileManager.default.createDirectory(atPath: partial + "/tracks", withIntermediateDirectories: true)
        try await rclone.fetch(place, to: partial)
        // The remains of an attempt that was interrupted may have the right size alone.
        if Self.removeDamaged(partial, manifest.files ?? []) { try await rclone.fetch(place, to: partial) }
        // Retention counts from now.
        let journal = partial + "/journal.jsonl"
        if FileManager.default.fileExists(atPath: journal) {
            try FileManager.default.setAttributes([.modificationDate: Date()], ofItemAtPath: journal)
        }
        try File.rename(partial, to: path)
        return try RecordingFolder.open(path: path)
    }

    /// Removes what differs from the manifest's digests; whether anything did.
    private static func removeDamaged(_ path: String, _ digests: [Certificate.FileDigest]) -> Bool {
        // The manifest may come from anybody: no name leads out of the folder.
        let inside = digests.filter { !$0.name.split(separator: "/").contains("..") }
        let damaged = inside.map { (path + "/" + $0.name, $0) }.filter { file, digest in
            FileManager.default.fileExists(atPath: file)
                && (try? HashingFile.sha256(file, first: digest.bytes)) != digest.sha256
        }
        for (file, _) in damaged { try? FileManager.default.removeItem(atPath: file) }
        return !damaged.isEmpty
    }
}
