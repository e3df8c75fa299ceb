// SPDX-License-Identifier: Apache-2.0

import Basics
import Catalogue
import Foundation
import Model
import Observability
import Platform
import ServiceLifecycle
import Storage
import Testing
import Timeline

@testable import Daemon

/// The real rclone, whose remote is a folder.
@Suite(.timeLimit(.minutes(5))) struct UploadServiceTests {
    private let bench: DaemonBench
    private let store: RecordingStore
    private let remote: String
    private let spec: UploadSpec
    private static let everything = RetentionPolicy(keepBytes: 0)

    init() throws {
        self.bench = try DaemonBench()
        self.store = try self.bench.store()
        self.remote = self.bench.storage + "/remote"
        let config = self.bench.storage + "/rclone.conf"
        try Data("[disk]\ntype = alias\nremote = \(self.remote)\n".utf8).write(to: URL(filePath: config))
        var spec = UploadSpec(remote: "disk:")
        spec.config = config
        self.spec = spec
    }

    private static let track = "/tracks/001 ä+b.mkv"

    /// A finished recording with a file of each part, for which no export waits.
    ///
    /// - Parameter isHashed: whether the manifest has the digests of track and journal.
    private func recording(_ second: Int = 0, isHashed: Bool = false) async throws -> RecordingFolder {
        let folder = try self.bench.makeRecording(second)
        for name in ["tracks/001 ä+b.mkv", "call.mkv", "certificate.txt"] {
            try Data("\(name) of \(folder.id)".utf8).write(to: URL(filePath: folder.path + "/" + name))
        }
        var manifest = Manifest(room: "standup", id: folder.id, verdict: .complete)
        if isHashed {
            manifest.files = try ["tracks/001 ä+b.mkv", "journal.jsonl"].map { name in
                let bytes = try #require(FileManager.default.contents(atPath: folder.path + "/" + name))
                let hash = SHA256Digest(of: bytes).hexadecimal
                return .init(name: name, bytes: UInt64(bytes.count), sha256: hash)
            }
        }
        try manifest.write(folder)
        try await self.bench.catalogue.refresh(folder)
        try await self.bench.catalogue.exportsOrdered(of: folder.id)
        return folder
    }

    private func place(_ folder: RecordingFolder) -> String {
        self.remote + "/" + folder.place(for: self.spec).dropFirst("disk:".count)
    }

    private func files(_ path: String) -> [String: Data] {
        let names = FileManager.default.enumerator(atPath: path)?.compactMap { $0 as? String } ?? []
        return names.reduce(into: [:]) { $0[$1] = FileManager.default.contents(atPath: path + "/" + $1) }
    }

    /// RFC 8032 section 7.1, test 1.
    private static let key = """
        -----BEGIN PRIVATE KEY-----
        MC4CAQAwBQYDK2VwBCIEIJ1hsZ3v/VpguoRK9JLsLMREScVpezJpGXA7rAMcrn9g
        -----END PRIVATE KEY-----

        """

    @Test(arguments: [true, false]) func aCertificateIsSignedBeforeItGoesOut(hasKey: Bool) async throws {
        let file = self.bench.storage + "/key.pem"
        if hasKey { try Data(Self.key.utf8).write(to: URL(filePath: file)) }
        self.store.signer.use(file)
        let folder = try await self.recording()
        self.store.uploads.use(self.spec)
        let event = try await self.store.running { try #require(await self.bench.next(.uploadFinished)) }
        // Without its key it goes out all the same.
        #expect(event.details["files"] == (hasKey ? "6" : "5"))
        let there = self.files(self.place(folder))
        let certificate = try #require(there["certificate.txt"])
        let expected = hasKey ? try SigningKey(file: file).signature(of: [UInt8](certificate)) : nil
        #expect(there["certificate.txt.sig"].map { [UInt8]($0) } == expected)
    }

    @Test func aRecordingIsUploadedAndThenMayBeDeleted() async throws {
        let folder = try await self.recording()
        await self.store.retention.apply(Self.everything, uploads: self.spec)
        #expect(!RecordingFolder.isGone(folder.path))
        self.store.uploads.use(self.spec)
        let event = try await self.store.running { try #require(await self.bench.next(.uploadFinished)) }
        #expect(event.recording == folder.id.rawValue && event.details["files"] == "5")
        #expect(event.details["place"] == folder.place(for: self.spec))
        #expect(self.files(self.place(folder)) == self.files(folder.path))
        let upload = try #require(try await self.bench.catalogue.upload(of: folder.id))
        #expect(upload.objects.allSatisfy { $0.checksum?.hasPrefix("sha256:") == true && $0.attempts == 1 })
        await self.store.retention.apply(Self.everything, uploads: self.spec)
        #expect(RecordingFolder.isGone(folder.path))
        #expect(self.files(self.place(folder)).count == 5)
    }

    /// The host that recorded it uploads it; what was made here of all has a place that no other host has.
    @Test func ofARecordingOfAnotherHostOnlyWhatWasMadeHereIsUploaded() async throws {
        let folder = try await self.recording()
        try RecordingFolder.markAsGathered(folder.path, epoch: 7)
        let bare = try self.bench.makeRecording(1)
        try RecordingFolder.markAsGathered(bare.path, epoch: 7)
        try await self.bench.catalogue.refresh(bare)
        try await self.bench.catalogue.exportsOrdered(of: bare.id)
        self.store.uploads.use(self.spec)
        let event = try await self.store.running { try #require(await self.bench.next(.uploadFinished)) }
        #expect(event.recording == folder.id.rawValue)
        let names = self.files(self.remote).filter { $0.value.count > 0 }.keys
        let place = "standup/\(folder.place(for: self.spec).split(separator: "/")[1])"
        let own = "\(place)/\(folder.compactStart)-series.7.\(folder.id)"
        #expect(Set(names) == ["\(own)/call.mkv", "\(own)/certificate.txt", "\(own)/manifest.json"])
        // Nothing of the other is to be uploaded, and nothing keeps it.
        await self.store.retention.apply(Self.everything, uploads: self.spec)
        #expect(RecordingFolder.isGone(folder.path) && RecordingFolder.isGone(bare.path))
    }

    /// As after an export by hand, or with an older catalogue.
    @Test func whatIsNotThereAsItIsHereIsKeptAndUploadedAgain() async throws {
        let folder = try await self.recording()
        self.store.uploads.use(self.spec)
        try await self.store.running { try #require(await self.bench.next(.uploadFinished) != nil) }
        try Data("another".utf8).write(to: URL(filePath: folder.path + "/grid.mkv"))
        await self.store.retention.apply(Self.everything, uploads: self.spec)
        #expect(!RecordingFolder.isGone(folder.path))
        let upload = try #require(try await self.bench.catalogue.upload(of: folder.id))
        #expect(upload.finished == nil && upload.objects.filter { !$0.isVerified }.map(\.file.name) == ["grid.mkv"])
    }

    /// A catalogue that was lost knows of no upload.
    @Test func whatIsAtTheRemoteIsNotSentAgainAndWhatDiffersIs() async throws {
        let folder = try await self.recording()
        let place = self.place(folder)
        try FileManager.default.createDirectory(atPath: place + "/tracks", withIntermediateDirectories: true)
        let track = "/tracks/001 ä+b.mkv"
        try FileManager.default.copyItem(atPath: folder.path + track, toPath: place + track)
        try Data("something else".utf8).write(to: URL(filePath: place + "/call.mkv"))
        self.store.uploads.use(self.spec)
        try await self.store.running { try #require(await self.bench.next(.uploadFinished) != nil) }
        #expect(self.files(place) == self.files(folder.path))
        let objects = try #require(try await self.bench.catalogue.upload(of: folder.id)).objects
        let attempts = Dictionary(uniqueKeysWithValues: objects.map { ($0.file.name, $0.attempts) })
        #expect(attempts["tracks/001 ä+b.mkv"] == 0 && attempts["call.mkv"] == 1)
    }

    /// Uploads at once, as after a change of the configuration, until something is published.
    private func next(_ kind: DaemonEvent.Kind, _ spec: UploadSpec? = nil) async -> DaemonEvent? {
        self.store.uploads.use(nil)
        self.store.uploads.use(spec ?? self.spec)
        return await self.bench.next(kind)
    }

    private func write(_ text: String, _ path: String) throws {
        try Data(text.utf8).write(to: URL(filePath: path))
    }

    /// A track was damaged here: the good copy stays at the remote, and the recording stays here.
    @Test func damageReplacesNothingAtTheRemote() async throws {
        let folder = try await self.recording(isHashed: true)
        let good = try #require(FileManager.default.contents(atPath: folder.path + Self.track))
        try await self.store.running {
            try #require(await self.next(.uploadFinished) != nil)
            try Data(count: good.count).write(to: URL(filePath: folder.path + Self.track))
            await self.store.retention.apply(Self.everything, uploads: self.spec)
            let failed = try #require(await self.next(.uploadFailed))
            #expect(failed.details["reason"]?.contains("not what was recorded") == true, "\(failed.details)")
            await self.store.retention.apply(Self.everything, uploads: self.spec)
        }
        #expect(FileManager.default.contents(atPath: self.place(folder) + Self.track) == good)
        #expect(!RecordingFolder.isGone(folder.path))
    }

    /// Without a digest nothing tells which of two tracks was recorded; a journal that went on is sent again.
    @Test func anOriginalIsReplacedByWhatTheManifestKnowsAlone() async throws {
        let (bare, hashed) = (try await self.recording(1), try await self.recording(2, isHashed: true))
        for folder in [bare, hashed] {
            let tracks = self.place(folder) + "/tracks"
            try FileManager.default.createDirectory(atPath: tracks, withIntermediateDirectories: true)
            try self.write("another", self.place(folder) + Self.track)
        }
        let journal = try #require(FileHandle(forWritingAtPath: hashed.journalPath))
        try journal.seekToEnd()
        try journal.write(contentsOf: Data("{}\n".utf8))
        try journal.close()
        try await self.store.running {
            try #require(await self.next(.uploadFailed)?.recording == bare.id.rawValue)
            #expect(await self.bench.next(.uploadFinished)?.recording == hashed.id.rawValue)
        }
        #expect(try String(contentsOfFile: self.place(bare) + Self.track, encoding: .utf8) == "another")
        #expect(self.files(self.place(hashed)) == self.files(hashed.path))
    }

    /// As of a room with `export: []`: nothing is found at a remote that has no manifest.
    @Test func aRecordingWithoutManifestGetsOneFirst() async throws {
        let folder = try await self.recording()
        let aside = self.bench.storage + "/manifest.json"
        try FileManager.default.moveItem(atPath: folder.manifestPath, toPath: aside)
        let store = try self.bench.store(
            repairs: "case \"$*\" in *--manifests*) cp \(aside) \(folder.manifestPath) ;; esac"
        )
        try await store.running {
            store.uploads.use(self.spec)
            #expect(await self.bench.next(.uploadFinished)?.recording == folder.id.rawValue)
        }
        #expect(self.files(self.place(folder))["manifest.json"] != nil)
        let repairs = try String(contentsOfFile: self.bench.storage + "/repairs", encoding: .utf8)
        #expect(repairs.contains("--no-export --manifests") && repairs.contains("--only \(folder.id)"), "\(repairs)")
        // One that is lost later is missed.
        try FileManager.default.removeItem(atPath: folder.manifestPath)
        await store.retention.apply(Self.everything, uploads: self.spec)
        #expect(!RecordingFolder.isGone(folder.path))
    }

    @Test func whatIsBeingUploadedStaysWhenUploadsAreSwitchedOff() async throws {
        let (begun, other) = (try await self.recording(1), try await self.recording(2))
        let upload = UploadEntry(recording: begun.id, place: begun.place(for: self.spec), planned: .now())
        try await self.bench.catalogue.save(upload, due: nil)
        await self.store.retention.apply(Self.everything, uploads: nil)
        #expect(!RecordingFolder.isGone(begun.path) && RecordingFolder.isGone(other.path))
    }

    /// It may be months ago that it was verified.
    @Test(arguments: ["gone", "another file", "empty", "no remote"])
    func theRemoteIsAskedBeforeAnythingIsDeleted(fault: String) async throws {
        let folder = try await self.recording()
        try await self.store.running { try #require(await self.next(.uploadFinished) != nil) }
        let track = self.place(folder) + Self.track
        var spec = self.spec
        switch fault {
        case "gone": try FileManager.default.removeItem(atPath: track)
        case "another file":
            let bytes = try #require(FileManager.default.contents(atPath: track))
            try Data(count: bytes.count).write(to: URL(filePath: track))
        case "empty": try FileManager.default.removeItem(atPath: self.remote)
        default: spec.config = "/dev/null"
        }
        await self.store.retention.apply(Self.everything, uploads: spec)
        #expect(!RecordingFolder.isGone(folder.path))
        let upload = try #require(try await self.bench.catalogue.upload(of: folder.id))
        let lost = upload.objects.filter { !$0.isVerified }.count
        #expect(lost == ["gone": 1, "another file": 1, "empty": 5][fault, default: 0])
        #expect((upload.finished == nil) == (lost > 0))
        guard lost == 5 else { return }
        let next = try self.bench.store()
        next.uploads.use(self.spec)
        try await next.running { try #require(await self.bench.next(.uploadFinished) != nil) }
        #expect(self.files(self.place(folder)) == self.files(folder.path))
    }

    @Test(arguments: ["more than 10000 files", "is too deep", "a name that is not UTF-8"])
    func whatIsNotListedIsNotTakenForUploaded(words: String) async throws {
        let folder = try await self.recording()
        let (before, deep) = (try folder.files().count, folder.path + "/1/2/3")
        switch words {
        case "is too deep":
            try FileManager.default.createDirectory(atPath: deep, withIntermediateDirectories: true)
            try self.write("", deep + "/4.txt")
        case "a name that is not UTF-8":
            let path = Array((folder.path + "/x").utf8CString.dropLast()) + [-1, 0]
            try #require(mkdir(path, 0o755) == 0)
        default: for number in 0..<10_000 { try self.write("", folder.path + "/\(number).txt") }
        }
        let error = #expect(throws: StorageError.self) { try folder.files(for: self.spec) }
        #expect(error?.message.contains(words) == true)
        #expect(try folder.files().count == (words == "more than 10000 files" ? 10_000 : before))
        var upload = UploadEntry(recording: folder.id, place: folder.place(for: self.spec), planned: .now())
        upload.finished = .now()
        try await self.bench.catalogue.save(upload, due: nil)
        await self.store.retention.apply(Self.everything, uploads: self.spec)
        #expect(!RecordingFolder.isGone(folder.path))
    }

    /// A file that is new after a change of the prefix goes where the rest is.
    @Test func oneRecordingHasOnePlace() async throws {
        let folder = try await self.recording()
        try await self.store.running {
            try #require(await self.next(.uploadFinished) != nil)
            try self.write("another", folder.path + "/grid.mkv")
            await self.store.retention.apply(Self.everything, uploads: self.spec)
            var spec = self.spec
            spec.prefix = "elsewhere"
            try #require(await self.next(.uploadFinished, spec) != nil)
        }
        #expect(self.files(self.place(folder)) == self.files(folder.path))
        #expect(!FileManager.default.fileExists(atPath: self.remote + "/elsewhere"))
    }

    /// A failure in the middle is published and tried again; nothing after it is taken for uploaded, and other recordings are uploaded.
    @Test func aFileThatFailsIsTriedAgainAndKeepsNoOtherRecording() async throws {
        let (first, second) = (try await self.recording(1), try await self.recording(2))
        // No file can be made below a file.
        try FileManager.default.createDirectory(atPath: self.place(first), withIntermediateDirectories: true)
        try Data("in the way".utf8).write(to: URL(filePath: self.place(first) + "/tracks"))
        self.store.uploads.use(self.spec)
        try await self.store.running {
            let failed = try #require(await self.bench.next(.uploadFailed))
            #expect(failed.recording == first.id.rawValue && failed.details["file"] == "tracks/001 ä+b.mkv")
            #expect(failed.details["attempt"] == "1" && failed.details["next"] != nil)
            #expect(await self.bench.next(.uploadFinished)?.recording == second.id.rawValue)
            #expect(!FileManager.default.fileExists(atPath: self.place(first) + "/manifest.json"))
            let progress = try await self.bench.catalogue.uploadProgress(of: [first.id])[first.id]
            #expect(progress?.error?.isEmpty == false && progress?.nextAttempt != nil)
            await self.store.retention.apply(Self.everything, uploads: self.spec)
            #expect(!RecordingFolder.isGone(first.path) && RecordingFolder.isGone(second.path))
            try FileManager.default.removeItem(atPath: self.place(first) + "/tracks")
            // As the janitor does.
            async let finished = self.bench.next(.uploadFinished)
            let ticks = Task {
                while !Task.isCancelled {
                    self.store.uploads.use(self.spec)
                    try? await Task.sleep(for: .milliseconds(200))
                }
            }
            #expect(await finished?.recording == first.id.rawValue)
            ticks.cancel()
        }
        #expect(self.files(self.place(first)) == self.files(first.path))
    }

    /// Killed between any two notes, the next life comes to the same end.
    @Test func theNextLifeGoesOn() async throws {
        let folder = try await self.recording()
        self.store.uploads.use(self.spec)
        try await self.store.running {
            while try await self.bench.catalogue.upload(of: folder.id)?.objects.contains(where: { $0.attempts > 0 })
                != true
            {
                try await Task.sleep(for: .milliseconds(5))
            }
        }
        let next = try self.bench.store()
        next.uploads.use(self.spec)
        try await next.running { try #require(await self.bench.next(.uploadFinished) != nil) }
        #expect(self.files(self.place(folder)) == self.files(folder.path))
    }
}
