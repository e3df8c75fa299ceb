// SPDX-License-Identifier: Apache-2.0

import Basics
import Catalogue
import Delivery
import Logging
import Model
import Observability
import Storage
import Synchronization

/// Uploads finished recordings, one file at a time: `UploadMachine` decides what is done, rclone does it.
///
/// What is to do is in the catalogue alone. A failure of the remote as a whole has everything wait for a while, a minute at most; one
/// of a file puts off that file.
actor UploadService {
    private static let pauses = Backoff(first: .seconds(5), longest: .seconds(60), variation: 1000...1000)
    /// How often it is looked for recordings to upload.
    private static let interval = Duration.seconds(5)
    /// Files are uploaded for so long before it is looked again.
    private static let round = Duration.seconds(10)
    /// A recording that cannot be looked at is looked at again after so long.
    private static let longInterval = Duration.seconds(600)
    /// The most recordings that are named on one command line.
    private static let mostOfOneJob = 1000
    private static let settingsFact = "upload"

    private let context: StoreContext
    private let wakes: AsyncStream<Void>
    private let wake: AsyncStream<Void>.Continuation
    private nonisolated let shared = Mutex(Shared())
    /// Failures in a row that concern the remote as a whole.
    private var failures = 0
    private var resumption = ContinuousClock.now

    /// Others read and write this without waiting for the disk.
    private struct Shared {
        var spec: UploadSpec?
        var attempt: Task<Void, any Error>?
        var nextTurn = ContinuousClock.now
    }

    nonisolated var unownedExecutor: UnownedSerialExecutor { self.context.thread.asUnownedSerialExecutor() }

    init(_ context: StoreContext) {
        self.context = context
        (self.wakes, self.wake) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1))
    }

    /// Where recordings are uploaded to; about once a second, never waits.
    ///
    /// An attempt at another place than before ends.
    nonisolated func use(_ spec: UploadSpec?) {
        let isWanted = self.shared.withLock { shared in
            defer { shared.spec = spec }
            if shared.spec != spec { shared.attempt?.cancel() }
            return shared.spec != spec || spec != nil && ContinuousClock.now >= shared.nextTurn
        }
        if isWanted { self.wake.yield() }
    }

    /// Where recordings are uploaded to at present; `nil` if they are not.
    ///
    /// Never waits.
    nonisolated var remote: (spec: UploadSpec, rclone: Rclone)? {
        self.shared.withLock { $0.spec }.map { ($0, Rclone($0, environment: self.context.jobs.environment.ofUploads)) }
    }

    /// Uploads until the end of the task, which ends an upload at once: the next life resumes it.
    func run() async {
        await withDiscardingTaskGroup { group in
            // The oldest grows older while a file goes out.
            group.addTask {
                repeat { await self.measure() } while (try? await Task.sleep(for: Self.interval)) != nil
            }
            for await _ in self.wakes {
                if let spec = self.shared.withLock({ $0.spec }) {
                    await self.plan(spec)
                    if await self.work(spec) { self.wake.yield() }
                    await self.measure()
                }
                self.shared.withLock { $0.nextTurn = .now + Self.interval }
            }
            group.cancelAll()
        }
    }

    // MARK: Plans

    /// What a change of decides where and what is uploaded.
    private struct Settings: Codable, Equatable {
        var remote: String
        var prefix: String
        var parts: [String]

        init(_ spec: UploadSpec) {
            self.remote = spec.remote
            self.prefix = spec.prefix
            self.parts = spec.parts.map(\.rawValue).sorted()
        }
    }

    /// Notes the files of recordings that are over, and those of unfinished uploads after the configuration changed.
    private func plan(_ spec: UploadSpec) async {
        let catalogue = self.context.catalogue
        await self.context.attempt("look for recordings to upload") {
            let settings = Settings(spec)
            if try await catalogue.remembered(Settings.self, as: Self.settingsFact) != settings {
                await self.plan(try await catalogue.unfinishedUploads(), spec)
                try await catalogue.remember(settings, as: Self.settingsFact)
            }
            await self.plan(try await catalogue.recordingsToUpload(), spec)
        }
    }

    /// Notes the files of recordings as they are now; those without a manifest get one first, for which all of them is read.
    private func plan(_ ids: [RecordingID], _ spec: UploadSpec) async {
        var bare: [RecordingID] = []
        for id in ids where !self.context.ledger.isInHand(id) {
            guard !Task.isCancelled else { return }
            if await !self.plan(id, spec) { bare.append(id) }
        }
        for start in stride(from: 0, to: bare.count, by: Self.mostOfOneJob) {
            let part = bare[start..<min(start + Self.mostOfOneJob, bare.count)]
            let arguments = ["repair", "--directory", self.context.catalogue.storage, "--no-export", "--manifests"]
            let selection = part.flatMap { ["--only", $0.rawValue] }
            let failure = await self.context.jobs.run(arguments + ["--json", "--pulse"] + selection) { _ in }
            guard !Task.isCancelled else { return }
            if let failure {
                self.context.logger.error(
                    "the manifests of recordings to upload could not be made",
                    metadata: .tagged([.errorMessage: "\(failure)"])
                )
            }
            for id in part { await self.plan(id, spec) }
        }
    }

    /// Takes that a recording is not at the remote as it is here: files were changed or added.
    func look(at id: RecordingID) async {
        guard let spec = self.shared.withLock({ $0.spec }), !self.context.ledger.isInHand(id) else { return }
        await self.plan([id], spec)
    }

    /// Whether the remote still has every file of a finished upload; `nil` if it does not say.
    ///
    /// A file that it has not, or has otherwise, is uploaded again.
    func isThere(_ upload: UploadEntry, _ spec: UploadSpec) async throws -> Bool? {
        let rclone = Rclone(spec, environment: self.context.jobs.environment.ofUploads)
        var lost: [String] = []
        for object in upload.objects {
            var found: Rclone.Found?
            do throws(RemoteFailure) {
                found = try await rclone.look(upload.place + "/" + object.file.name)
            } catch {
                // S3 refuses a look at what is not there; a remote that was taken out of the configuration has nothing.
                guard error.kind == .rights || error.kind == .name && !spec.contains(upload.place) else { return nil }
            }
            if !object.isFound(found) { lost.append(object.file.name) }
        }
        guard !lost.isEmpty else { return true }
        self.context.logger.warning(
            "the remote lost files of a recording: they are uploaded again",
            metadata: .tagged([.recordingID: "\(upload.recording)", .detail: "\(lost.prefix(10))"])
        )
        var upload = upload
        let now = UTCTime.now()
        upload.finished = nil
        upload.objects = upload.objects.map { lost.contains($0.file.name) ? UploadObject($0.file, due: now) : $0 }
        try await self.context.catalogue.save(upload, due: now)
        await self.plan([upload.recording], spec)
        return false
    }

    /// Notes the files of a recording as they are now; false if it has no manifest: nothing is sent before it has one.
    @discardableResult
    private func plan(_ id: RecordingID, _ spec: UploadSpec) async -> Bool {
        let hasManifest = await self.context.attempt("look at a recording to upload") { () async throws -> Bool in
            let catalogue = self.context.catalogue
            let now = UTCTime.now()
            guard let folder = try? self.context.folder(of: try await catalogue.recording(id)), !folder.isHeld else {
                return true
            }
            // An export by hand left it without a signature.
            self.context.signer.sign(folder)
            let place = folder.place(for: spec)
            var upload = try await catalogue.upload(of: id) ?? UploadEntry(recording: id, place: place, planned: now)
            // A finished upload stays where it is, and a recording has one place at a remote.
            let hasBegun = upload.objects.contains(where: \.isVerified) && spec.contains(upload.place)
            if upload.finished == nil, !hasBegun, upload.place != place { (upload.place, upload.objects) = (place, []) }
            upload.planned = now
            let files: [UploadObject.File]
            do throws(StorageError) {
                files = try folder.files(for: spec)
            } catch {
                upload.finished = nil
                try await catalogue.save(upload, due: now.adding(Self.longInterval))
                throw error
            }
            if folder.isOfAnotherHost(files) {
                upload.objects = []
                upload.finished = upload.finished ?? now
                try await catalogue.save(upload, due: nil)
                return true
            }
            guard files.hasManifest else {
                upload.finished = nil
                try await catalogue.save(upload, due: now.adding(Self.longInterval))
                return false
            }
            var machine = UploadMachine(upload.objects)
            machine.take(files, at: now)
            upload.objects = machine.objects
            let turn = machine.turn(at: now)
            upload.finished = turn == .complete ? upload.finished ?? now : nil
            try await catalogue.save(upload, due: turn.due(at: now))
            return true
        }
        return hasManifest ?? true
    }

    // MARK: Work

    /// Makes the attempts that are due; whether there may be more.
    private func work(_ spec: UploadSpec) async -> Bool {
        let end = ContinuousClock.now + Self.round
        while ContinuousClock.now >= self.resumption {
            guard !Task.isCancelled, ContinuousClock.now < end, self.shared.withLock({ $0.spec }) == spec else {
                return true
            }
            let read = await self.context.attempt("read the uploads") { try await self.context.catalogue.nextUpload() }
            guard let next = read ?? nil, Catalogue.isDue(next.due, at: .now()) else { return false }
            let isNoted = await self.context.attempt("note an upload") {
                let attempt = Task { try await self.attempt(next.recording, spec) }
                self.shared.withLock { shared in
                    shared.attempt = attempt
                    if shared.spec != spec { attempt.cancel() }
                }
                try await withTaskCancellationHandler {
                    try await attempt.value
                } onCancel: {
                    attempt.cancel()
                }
            }
            // A catalogue that takes nothing would have the same file sent again and again.
            guard isNoted else { return false }
        }
        return false
    }

    /// Makes one attempt with the next file of a recording.
    private func attempt(_ id: RecordingID, _ spec: UploadSpec) async throws {
        let catalogue = self.context.catalogue
        guard let upload = try await catalogue.upload(of: id) else { return }
        var machine = UploadMachine(upload.objects)
        var action = machine.begin(at: .now())
        let folder = try? self.context.folder(of: try await catalogue.recording(id))
        guard action == .look, let object = machine.object, let folder,
            (try? folder.file(object.file.name, rank: object.file.rank)) == object.file
        else {
            // It could not be looked at, has no manifest, or a file is gone or was written again.
            try await catalogue.save(upload, due: UTCTime.now().adding(Self.longInterval))
            if folder != nil { await self.plan([id], spec) }
            return
        }
        let path = folder.path + "/" + object.file.name
        let place = upload.place + "/" + object.file.name
        let rclone = Rclone(spec, environment: self.context.jobs.environment.ofUploads)
        var isReplacing = false
        var ours: [String: String] = [:]
        while true {
            switch action {
            case .look, .send: break
            case .verified, .putOff, .none: return try await self.end(action, machine, upload)
            }
            var failure: RemoteFailure?
            let input: UploadMachine.Input
            do throws(RemoteFailure) {
                if case .send(let isRepeated) = action {
                    ours = try await rclone.hashes(ofFile: path, bytes: object.file.bytes)
                    let hash = ours["sha256"] ?? ""
                    if let obstacle = folder.obstacle(to: object.file, hash: hash, isReplacing: isReplacing) {
                        throw RemoteFailure(.other, obstacle)
                    }
                    if isRepeated { try await rclone.cleanUp(upload.place) }
                    try await rclone.send(path, to: place, bytes: object.file.bytes)
                    self.context.metrics.uploaded(bytes: object.file.bytes)
                    input = .sent
                } else {
                    input = try await Self.look(rclone, path, place, object.file.bytes, ours)
                    if case .different = input { isReplacing = true }
                }
            } catch {
                // S3 gives no reason for a refused look: an attempt to send has one.
                let isRefusedLook = machine.phase == .looking && error.kind == .rights
                failure = isRefusedLook ? nil : error
                input = isRefusedLook ? .absent : .failed(error.description)
            }
            // The daemon ends: the remote is not to blame.
            guard !Task.isCancelled else { return }
            action = machine.handle(input, random: .random(in: 0...1), at: .now())
            if failure?.concernsAll == true {
                self.failures += 1
                self.resumption = .now + Self.pauses.delay(failures: self.failures, random: 0)
            } else if failure == nil {
                self.failures = 0
            }
            // Before anything goes out.
            if case .send = action, let object = machine.object {
                try await catalogue.update(object, of: id, at: upload.place, due: .now(), now: .now())
            }
        }
    }

    private static func look(
        _ rclone: Rclone,
        _ path: String,
        _ place: String,
        _ bytes: Int64,
        _ ours: [String: String]
    ) async throws(RemoteFailure) -> UploadMachine.Input {
        guard let found = try await rclone.look(place) else { return .absent }
        switch try await rclone.compare(path, bytes: bytes, with: place, found: found, ours: ours) {
        case .same(let checksum): return .same(checksum: checksum)
        case .different(let reason): return .different(reason)
        }
    }

    /// Notes how an attempt ended, and publishes it.
    private func end(_ action: UploadMachine.Action, _ machine: UploadMachine, _ upload: UploadEntry) async throws {
        guard let object = machine.object else { return }
        let now = UTCTime.now()
        let isFinished = try await self.context.catalogue.update(
            object,
            of: upload.recording,
            at: upload.place,
            due: machine.turn(at: now).due(at: now) ?? now,
            now: now
        )
        let recording = upload.recording.rawValue
        if action == .putOff {
            self.context.metrics.uploadFailed()
            self.context.bus.publish(
                .uploadFailed,
                recording: recording,
                [
                    "file": object.file.name, "reason": object.error ?? "", "attempt": "\(object.attempts)",
                    "next": object.due.iso8601,
                ]
            )
        } else if isFinished {
            self.context.bus.publish(
                .uploadFinished,
                recording: recording,
                [
                    "place": upload.place, "files": "\(machine.objects.count)",
                    "bytes": "\(machine.objects.reduce(0) { $0 + $1.file.bytes })",
                ]
            )
        }
    }

    private func measure() async {
        guard self.shared.withLock({ $0.spec }) != nil else { return self.context.metrics.uploads(oldestSeconds: nil) }
        await self.context.attempt("count uploads") {
            let oldest = try await self.context.catalogue.uploadFigures().oldest
            let age = oldest.map { Double(UTCTime.now().nanosecondsSince1970 - $0.nanosecondsSince1970) / 1e9 }
            self.context.metrics.uploads(oldestSeconds: max(0, age ?? 0))
        }
    }
}

extension UploadObject {
    /// Whether what the remote has is this file, as it was verified.
    fileprivate func isFound(_ found: Rclone.Found?) -> Bool {
        guard let found, found.bytes == self.file.bytes || found.bytes < 0 else { return false }
        guard let (function, value) = found.checksum else { return true }
        let verified = (self.checksum ?? "").split(separator: ":")
        return verified.first.map(String.init) != function || verified.last.map(String.init) == value
    }
}

extension UploadMachine.Turn {
    /// When something is due; `nil` if nothing waits.
    fileprivate func due(at now: UTCTime) -> UTCTime? {
        switch self {
        case .next: now
        case .waits(let time): time
        case .complete: nil
        }
    }
}
