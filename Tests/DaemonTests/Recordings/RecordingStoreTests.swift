// SPDX-License-Identifier: Apache-2.0

import Basics
import Catalogue
import Control
import Foundation
import Logging
import Model
import Observability
import ServiceLifecycle
import Storage
import Synchronization
import Testing
import Timeline

@testable import Daemon

@Suite(.timeLimit(.minutes(5))) struct RecordingStoreTests {
    private let bench: DaemonBench

    init() throws {
        self.bench = try DaemonBench()
    }

    private func repairs() -> [String] {
        let text = (try? String(contentsOfFile: self.bench.storage + "/repairs", encoding: .utf8)) ?? ""
        return text.split(separator: "\n").map(String.init)
    }

    private static func holding(_ folder: RecordingFolder) throws -> JournalWriter {
        let journal = try JournalWriter(folder: folder)
        try #require(try journal.lock())
        return journal
    }

    /// An export of a finished recording, run to its end.
    private func export(_ script: String, until kind: DaemonEvent.Kind) async throws -> (DaemonEvent, ExportEntry) {
        let folder = try self.bench.makeRecording()
        try await self.bench.catalogue.refresh(folder)
        let store = try self.bench.store(exports: script)
        let export = try #require(await store.exports.enqueue(folder.id, ExportSpec()))
        return try await store.running {
            let event = try #require(await self.bench.next(kind))
            return (event, try await self.bench.catalogue.export(export.id))
        }
    }

    @Test func aJobReadsItsExportFromItsStandardInput() async throws {
        let folder = try self.bench.makeRecording()
        try await self.bench.catalogue.refresh(folder)
        let store = try self.bench.store(exports: #"cat > "$storage/order"; echo "$*" >> "$storage/order""#)
        let spec = ExportSpec(.tracks(.init(container: .webm, switches: [.project])), participant: "-\n\u{e9}")
        try #require(await store.exports.enqueue(folder.id, spec) != nil)
        try await store.running { try #require(await self.bench.next(.exportFinished) != nil) }
        let lines = try String(contentsOfFile: self.bench.storage + "/order", encoding: .utf8).split(separator: "\n")
        #expect(try ExportOrder(line: Data(try #require(lines.first).utf8)).spec == spec)
        #expect(lines.dropFirst() == ["worker --export \(folder.path)"])
    }

    @Test func anExportWhoseArgumentsAreNotTakenFailsAtOnce() async throws {
        let (event, export) = try await self.export("exit 2", until: .exportFailed)
        #expect(export.state == .failed && export.attempts == 1 && event.details["next"] == nil)
        #expect(event.details["reason"] == "exit code 2")
    }

    @Test func whatTheJobSaysCountsMoreThanItsCode() async throws {
        let line = #"{"failed":{"message":"the disk is full","retriable":true}}"#
        let (event, export) = try await self.export("echo '\(line)'; exit 2", until: .exportFailed)
        #expect(export.state == .queued && event.details["next"] != nil)
        #expect(event.details["reason"] == "the disk is full")
    }

    @Test func aJobThatDiesIsTriedAgain() async throws {
        let (event, export) = try await self.export("kill -9 $$", until: .exportFailed)
        #expect(export.state == .queued && export.attempts == 1 && event.details["next"] != nil)
    }

    /// Neither that it begins nor how it ended; or only not how it ended, so that it seems to run.
    @Test(arguments: ["1", "NEW.state <> 'running'"])
    func anExportThatCannotBeNotedIsTriedAgainLater(_ refused: String) async throws {
        let folder = try self.bench.makeRecording()
        try await self.bench.catalogue.refresh(folder)
        let store = try self.bench.store()
        let export = try #require(await store.exports.enqueue(folder.id, ExportSpec()))
        try self.bench.refuseExports(where: refused)
        let tries = try await store.running {
            let event = try #require(await self.bench.next(.exportFailed))
            #expect(event.details["next"] != nil)
            // Long enough for hundreds of tries without a pause.
            try await Task.sleep(for: .seconds(1))
            try self.bench.takeExports()
            while try await !self.bench.catalogue.pendingExports().isEmpty {
                store.exports.note(DiskUsage(freeBytes: 1 << 40, minimumFreeBytes: 0))
                try await Task.sleep(for: .milliseconds(50))
            }
            var tries = 0
            for await event in self.bench.events {
                if event.kind == .exportStarted { tries += 1 }
                if event.kind == .exportFinished { break }
            }
            return tries
        }
        #expect(tries == 1)
        #expect(try await self.bench.catalogue.export(export.id).state == .done)
    }

    /// The second one waits as long as it should.
    @Test func anExportThatWaitedBeforeTheClockWasSetBackBegins() async throws {
        let folder = try self.bench.makeRecording()
        try await self.bench.catalogue.refresh(folder)
        let store = try self.bench.store()
        var exports = [86_400, 1800].map { seconds in
            var export = ExportEntry(recording: folder.id, created: .now())
            export.due = UTCTime.now().adding(.seconds(seconds))
            return export
        }
        for export in exports { #expect(await store.exports.enqueue(export)) }
        try await store.running {
            #expect(await self.bench.next(.exportFinished)?.details["export"] != nil)
        }
        for index in exports.indices { exports[index] = try await self.bench.catalogue.export(exports[index].id) }
        #expect(exports.map(\.state) == [.done, .queued])
    }

    @Test func asManyExportsRunAtATimeAsTheConfigurationSays() async throws {
        // Each waits for the other, and exits with 5 if it is alone for too long.
        let script = """
            touch "$storage/began.$$"
            for turn in $(seq 400); do
                if [ "$(ls "$storage" | grep -c began)" -ge 2 ]; then exit 2; fi
                sleep 0.05
            done
            exit 5
            """
        let store = try self.bench.store(exports: script, exportJobs: 2)
        for _ in 0..<2 {
            let folder = try self.bench.makeRecording()
            try await self.bench.catalogue.refresh(folder)
            try #require(await store.exports.enqueue(folder.id, ExportSpec()) != nil)
        }
        try await store.running {
            for _ in 0..<2 {
                let event = try #require(await self.bench.next(.exportFailed))
                #expect(event.details["reason"] == "exit code 2")
            }
        }
    }

    /// A recording of a million bytes.
    private func large(segment: Int? = nil, ofSeriesFrom first: RecordingFolder? = nil) async throws -> RecordingFolder
    {
        let folder = try self.bench.makeRecording(segment ?? 0, segment: segment, ofSeriesFrom: first)
        try FileManager.default.createDirectory(atPath: folder.tracksPath, withIntermediateDirectories: true)
        try Data(count: 1_000_000).write(to: URL(filePath: folder.tracksPath + "/001-alice-audio.mka"))
        try await self.bench.catalogue.refresh(folder)
        return folder
    }

    struct WaitingExport: Sendable {
        var spec = ExportSpec()
        var waits = true
    }

    /// Space for one and a half recordings of a second each.
    @Test(arguments: [
        WaitingExport(waits: false), WaitingExport(spec: ExportSpec(.tracks(.init(container: .mp4)))),
        WaitingExport(spec: ExportSpec(series: true)),
        WaitingExport(spec: ExportSpec(to: .milliseconds(500), series: true), waits: false),
    ])
    func anExportWaitsForAllTheSpaceThatItNeeds(_ plan: WaitingExport) async throws {
        let first = try await self.large(segment: 1)
        let second = try await self.large(segment: 2, ofSeriesFrom: first)
        try await self.bench.catalogue.exportsOrdered(of: second.id)
        let store = try self.bench.store()
        store.exports.note(DiskUsage(freeBytes: 1_500_000, minimumFreeBytes: 0))
        let export = ExportEntry(recording: first.id, spec: plan.spec, created: .now())
        #expect(await store.exports.enqueue(export))
        let found = try await store.running {
            guard plan.waits else {
                _ = try #require(await self.bench.next(.exportFinished))
                return try await self.bench.catalogue.export(export.id)
            }
            while try await self.bench.catalogue.export(export.id).error == nil { await Task.yield() }
            return try await self.bench.catalogue.export(export.id)
        }
        #expect(found.state == (plan.waits ? .queued : .done))
        #expect(found.error == (plan.waits ? "it waits for free space: 500000 bytes more are needed" : nil))
        guard plan.waits else { return }
        // What is to be deleted for the space is deleted.
        await store.retention.apply(RetentionPolicy(keepBytes: 0))
        #expect(try RecordingFolder.list(storage: self.bench.storage).map(\.id) == [first.id])
    }

    /// Nothing else ends the wait where the disk stays full.
    @Test func anExportThatWaitsForSpaceIsCancelled() async throws {
        let folder = try await self.large()
        let store = try self.bench.store()
        store.exports.note(DiskUsage(freeBytes: 1000, minimumFreeBytes: 0))
        let export = try #require(await store.exports.enqueue(folder.id, ExportSpec()))
        try await store.running {
            while try await self.bench.catalogue.export(export.id).error == nil { await Task.yield() }
            var isCancelled = false
            while !isCancelled {
                do {
                    try await store.exports.cancel(export.id, of: folder.id)
                    isCancelled = true
                } catch let error as ControlError where error.code == .conflict {
                    // It is being put off just now.
                    await Task.yield()
                }
            }
            let error = await #expect(throws: CatalogueError.self) {
                try await store.exports.cancel(export.id, of: folder.id)
            }
            #expect(error?.code == .notFound)
            // With space there is one to run, and not the other.
            store.exports.note(DiskUsage(freeBytes: 1 << 40, minimumFreeBytes: 0))
            let next = try #require(await store.exports.enqueue(folder.id, ExportSpec()))
            #expect(await self.bench.next(.exportFinished)?.details["export"] == next.id)
            #expect(try await self.bench.catalogue.exports(of: folder.id).map(\.id) == [next.id])
        }
    }

    @Test func anExportThatRunsIsNotCancelled() async throws {
        let folder = try self.bench.makeRecording()
        try await self.bench.catalogue.refresh(folder)
        let store = try self.bench.store(exports: "exec sleep 3600")
        let export = try #require(await store.exports.enqueue(folder.id, ExportSpec()))
        try await store.running {
            _ = try #require(await self.bench.next(.exportStarted))
            let error = await #expect(throws: ControlError.self) {
                try await store.exports.cancel(export.id, of: folder.id)
            }
            #expect(error?.code == .conflict)
        }
        #expect(try await self.bench.catalogue.exports(of: folder.id).map(\.id) == [export.id])
    }

    @Test func anExportThatIsCutOffByTheEndHasNotFailed() async throws {
        let folder = try self.bench.makeRecording()
        try await self.bench.catalogue.refresh(folder)
        let store = try self.bench.store(exports: "exec sleep 3600")
        let export = try #require(await store.exports.enqueue(folder.id, ExportSpec()))
        try await store.running { _ = try #require(await self.bench.next(.exportStarted)) }
        let left = try await self.bench.catalogue.export(export.id)
        #expect(left.attempts == 0 && [.queued, .running].contains(left.state))
        let kinds = try await self.bench.store().running {
            var kinds: [DaemonEvent.Kind] = []
            for await event in self.bench.events {
                kinds.append(event.kind)
                if event.kind == .exportFinished { break }
            }
            return kinds
        }
        #expect(kinds.contains(.exportStarted) && !kinds.contains(.exportFailed), "\(kinds)")
    }

    @Test func anExportLeavesSpaceForThoseThatRun() async throws {
        let recordings = try await [self.large(), self.large()]
        let script = #"while [ ! -e "$storage/go" ]; do sleep 0.05; done"#
        let store = try self.bench.store(exports: script, exportJobs: 2)
        store.exports.note(DiskUsage(freeBytes: 1_500_000, minimumFreeBytes: 0))
        for recording in recordings { _ = await store.exports.enqueue(recording.id, ExportSpec()) }
        try await store.running {
            let catalogue = self.bench.catalogue
            var pending: [ExportEntry] = []
            while !pending.contains(where: { $0.error != nil }) || !pending.contains(where: { $0.state == .running }) {
                pending = try await catalogue.pendingExports()
            }
            #expect(pending.map { $0.error == nil ? .running : .queued } == pending.map(\.state), "\(pending)")
            // The one that waited begins when the other one is done, and the disk is looked at again.
            try Data().write(to: URL(filePath: self.bench.storage + "/go"))
            while try await !catalogue.pendingExports().isEmpty {
                store.exports.note(DiskUsage(freeBytes: 1_500_000, minimumFreeBytes: 0))
                try await Task.sleep(for: .milliseconds(50))
            }
        }
    }

    @Test func theLastProgressIsToldBeforeTheEnd() async throws {
        let folder = try self.bench.makeRecording()
        try await self.bench.catalogue.refresh(folder)
        let script = [50, 99, 100].map { #"echo '{"progress":{"bytesDone":\#($0),"bytesTotal":100}}'"# }
        let store = try self.bench.store(exports: script.joined(separator: "\n"))
        _ = try #require(await store.exports.enqueue(folder.id, ExportSpec()))
        let told = try await store.running {
            var told: [String] = []
            for await event in self.bench.events {
                if event.kind == .exportProgress { told.append(event.details["progress"] ?? "") }
                if event.kind == .exportFinished { break }
            }
            return told
        }
        #expect(told.first == "50" && told.last == "100", "\(told)")
    }

    @Test func whatAnEarlierWorkerLeavesIsRepairedAlone() async throws {
        let held = try self.bench.makeRecording(1, isFinished: false)
        // Of a room whose worker died, and that waits for its next one.
        let ours = try self.bench.makeRecording(2, isFinished: false)
        let holder = Mutex<JournalWriter?>(try Self.holding(held))
        let store = try self.bench.store()
        try await store.running {
            // After the repair of the start, when it waits for who holds the journal.
            let known = self.bench.catalogue
            while try await known.recordings(in: .unfinished).count < 2 { await Task.yield() }
            let reference = RecordingReference(id: ours.id.rawValue, folder: ours.path)
            await store.keeper.started(room: "standup", reference, exports: [])
            try holder.withLock { journal in
                if let journal { try DaemonBench.finish(journal) }
                journal = nil
            }
            _ = try #require(await self.bench.next(.exportFinished))
        }
        let repairs = self.repairs()
        #expect(repairs.count == 2 && repairs[1].hasSuffix("--only \(held.id)"), "\(repairs)")
    }

    /// A room that was left has a worker no more, and its files may still be completed by the one that it had.
    @Test func whatIsStillCompletedIsNotAbandoned() async throws {
        let folder = try self.bench.makeRecording(isFinished: false)
        let store = try self.bench.store()
        var journal: JournalWriter? = try Self.holding(folder)
        let reference = RecordingReference(id: folder.id.rawValue, folder: folder.path)
        await store.keeper.started(room: "standup", reference, exports: [])
        for _ in 0..<3 { await store.recovery.closeAbandoned(except: []) }
        #expect(store.ledger.active.count == 1 && self.repairs().isEmpty)
        if let journal { try DaemonBench.finish(journal) }
        journal = nil
        await store.recovery.closeAbandoned(except: [])
        #expect(store.ledger.active.isEmpty)
        #expect(self.repairs().map { $0.hasSuffix("--only \(folder.id)") } == [true])
    }

    /// A repair that fails the first time, as on a disk that is not there yet, and then closes a recording.
    private static func repairs(atTheSecondTry folder: RecordingFolder) -> String {
        """
        if [ ! -e "$storage/tried" ]; then touch "$storage/tried"; exit 5; fi
        echo '{"id":"\(folder.id)","folder":"\(folder.path)","room":"standup","unreadable":{}}'
        """
    }

    @Test func aRepairOfTheStartThatFailedIsTriedAgain() async throws {
        let folder = try self.bench.makeRecording(1, isFinished: false)
        // Of a room that goes on with it.
        let other = try self.bench.makeRecording(2, isFinished: false)
        let store = try self.bench.store(repairs: Self.repairs(atTheSecondTry: folder))
        try await store.running {
            // They are known after the repair of the start.
            while try await self.bench.catalogue.recordings(in: .unfinished).count < 2 { await Task.yield() }
            await store.recovery.closeAbandoned(except: [other.id.rawValue])
            _ = try #require(await self.bench.next(.exportFinished))
            await store.recovery.closeAbandoned(except: [other.id.rawValue])
        }
        let repairs = self.repairs()
        #expect(repairs.count == 2 && repairs[1].hasSuffix("--only \(folder.id)"), "\(repairs)")
        #expect(try await self.bench.catalogue.recording(folder.id).state == .finished)
    }

    @Test(arguments: [true, false])
    func whatCouldNotBeClosedIsClosedLater(_ isDue: Bool) async throws {
        let folder = try self.bench.makeRecording(isFinished: false)
        let store = try self.bench.store(
            repairs: Self.repairs(atTheSecondTry: folder),
            repairInterval: isDue ? .zero : .seconds(600)
        )
        await store.keeper.started(room: "standup", Self.reference(folder), exports: [ExportSpec(.init(.audio))])
        for _ in 0..<2 { await store.recovery.closeAbandoned(except: []) }
        // Nobody goes on with it: it may be deleted.
        #expect(store.ledger.active.isEmpty && self.repairs().count == 1)
        await store.recovery.closeAbandoned(except: [])
        #expect(self.repairs().count == (isDue ? 2 : 1))
        #expect(try await self.bench.catalogue.exports(of: folder.id).layouts == (isDue ? [.audio] : []))
    }

    @Test func whatCouldNotBeClosedHoldsUpNoOther() async throws {
        let (bad, good) = (
            try self.bench.makeRecording(1, isFinished: false), try self.bench.makeRecording(2, isFinished: false)
        )
        let store = try self.bench.store(
            repairs: Self.repairs(atTheSecondTry: good),
            repairInterval: .seconds(600)
        )
        await store.keeper.started(room: "standup", Self.reference(bad), exports: [])
        for _ in 0..<2 { await store.recovery.closeAbandoned(except: []) }
        await store.keeper.started(room: "standup", Self.reference(good), exports: [])
        for _ in 0..<2 { await store.recovery.closeAbandoned(except: []) }
        #expect(self.repairs().map { $0.hasSuffix("--only \(bad.id)") } == [true, false])
        #expect(try await self.bench.catalogue.recording(good.id).state == .finished)
    }

    @Test func whatARebuiltCatalogueFindsFinishedIsExported() async throws {
        let folder = try self.bench.makeRecording()
        _ = try await self.bench.catalogue.rebuild()
        #expect(try await self.bench.catalogue.recording(folder.id).state == .finished)
        let store = try self.bench.store()
        try await store.running {
            let event = try #require(await self.bench.next(.exportFinished))
            #expect(event.recording == folder.id.rawValue)
        }
        #expect(try await self.bench.catalogue.exports(of: folder.id).map(\.state) == [.done])
        #expect(try await self.bench.catalogue.recordingsToExport().isEmpty)
    }

    @Test func whatCouldNotBeOrderedIsOrderedAfterTheNextStart() async throws {
        let folder = try self.bench.makeRecording()
        let reference = RecordingReference(id: folder.id.rawValue, folder: folder.path)
        // The catalogue does not know the recording yet, and takes no export of it.
        let exports = [ExportSpec()]
        try await self.bench.store().keeper.finished(room: "standup", reference, exports: exports)
        #expect(try await self.bench.catalogue.recording(folder.id).state == .finished)
        #expect(try await self.bench.catalogue.exports(of: folder.id).isEmpty)
        try await self.bench.store().running { _ = try #require(await self.bench.next(.exportFinished)) }
        #expect(try await self.bench.catalogue.exports(of: folder.id).map(\.state) == [.done])
    }

    private static func reference(_ folder: RecordingFolder) -> RecordingReference {
        RecordingReference(id: folder.id.rawValue, folder: folder.path)
    }

    @Test func whatCouldNotBeOrderedIsOrderedAMinuteLater() async throws {
        let folder = try self.bench.makeRecording()
        let store = try self.bench.store()
        // The catalogue does not know the recording yet, and takes no export of it.
        await store.keeper.finished(room: "standup", Self.reference(folder), exports: [ExportSpec(.init(.audio))])
        #expect(try await self.bench.catalogue.exports(of: folder.id).isEmpty)
        for _ in 0..<2 { await store.keeper.refreshActive() }
        #expect(try await self.bench.catalogue.exports(of: folder.id).layouts == [.audio])
        #expect(try await self.bench.catalogue.recordingsToExport().isEmpty)
    }

    @Test func anEndThatCouldNotBeNotedIsNotedAMinuteLater() async throws {
        let log = LogLines()
        let store = try self.bench.store(logger: log.logger)
        let folders = try [self.bench.makeRecording(1), self.bench.makeRecording(2)]
        for folder in folders {
            await store.keeper.started(room: "standup", Self.reference(folder), exports: [])
            try Data("{".utf8).write(to: URL(filePath: folder.manifestPath))
            await store.keeper.finished(room: "standup", Self.reference(folder), exports: [])
            #expect(try await self.bench.catalogue.recording(folder.id).state == .recording)
        }
        try FileManager.default.removeItem(atPath: folders[0].manifestPath)
        try FileManager.default.removeItem(atPath: folders[1].path)
        let told = log.all.count
        await store.keeper.refreshActive()
        #expect(try await self.bench.catalogue.recording(folders[0].id).state == .finished)
        #expect(try await self.bench.catalogue.recordingsToExport().isEmpty)
        #expect(log.all.count == told, "of what has no folder any more there is nothing to note: \(log.all)")
    }

    @Test func whatEndsWhileOthersAreNotedIsFinished() async throws {
        let folders = try (0..<40).map { try self.bench.makeRecording($0) }
        let store = try self.bench.store()
        for folder in folders { await store.keeper.started(room: "standup", Self.reference(folder), exports: []) }
        async let refreshed: Void = store.keeper.refreshActive()
        for folder in folders { await store.keeper.finished(room: "standup", Self.reference(folder), exports: []) }
        await refreshed
        #expect(try await self.bench.catalogue.recordings(in: .recording).isEmpty)
        #expect(try await self.bench.catalogue.recordings(in: .finished).count == folders.count)
    }

    @Test func whatIsExportedMeanwhileStillGoesOn() async throws {
        let folder = try self.bench.makeRecording(isFinished: false)
        let store = try self.bench.store()
        await store.keeper.started(room: "standup", Self.reference(folder), exports: [])
        _ = try #require(await store.exports.enqueue(folder.id, ExportSpec()))
        try await store.running { _ = try #require(await self.bench.next(.exportFinished)) }
        let entry = try await self.bench.catalogue.recording(folder.id)
        #expect(entry.state == .recording)
        #expect(entry.durationSeconds != nil && RecordingResource(entry).durationSeconds == nil)
    }

    /// The daemon and its worker die after somebody exported what there was.
    @Test func whatWasExportedMeanwhileIsExportedInTheEnd() async throws {
        let folder = try self.bench.makeRecording()
        let early = try self.bench.store()
        await early.keeper.started(room: "standup", Self.reference(folder), exports: [])
        _ = try #require(await early.exports.enqueue(folder.id, ExportSpec(.init(.audio))))
        try await early.running { _ = try #require(await self.bench.next(.exportFinished)) }
        try await self.bench.store().running { _ = try #require(await self.bench.next(.exportFinished)) }
        #expect(try await self.bench.catalogue.exports(of: folder.id).layouts == [.audio, .tracks])
    }

    /// Its room records nothing any more.
    @Test func whatARecordingWasBegunWithIsExported() async throws {
        let folder = try self.bench.makeRecording()
        let store = try self.bench.store()
        await store.keeper.started(room: "standup", Self.reference(folder), exports: [ExportSpec(.init(.audio))])
        await store.keeper.finished(room: "standup", Self.reference(folder), exports: nil)
        #expect(try await self.bench.catalogue.exports(of: folder.id).layouts == [.audio])
    }

    /// Each changes the same manifest.
    @Test func exportsOfOneRecordingRunOneAfterTheOther() async throws {
        let folder = try self.bench.makeRecording()
        try await self.bench.catalogue.refresh(folder)
        let script = #"mkdir "$storage/alone" || exit 2; sleep 1; rmdir "$storage/alone""#
        let store = try self.bench.store(exports: script, exportJobs: 2)
        for layout in [ExportSpec.Layout.Name.tracks, .audio] {
            try #require(await store.exports.enqueue(folder.id, ExportSpec(.init(layout))) != nil)
        }
        try await store.running {
            while try await !self.bench.catalogue.pendingExports().isEmpty {
                try await Task.sleep(for: .milliseconds(50))
            }
        }
        #expect(try await self.bench.catalogue.exports(of: folder.id).map(\.state) == [.done, .done])
    }

    @Test func anExportEndsWithItsRecording() async throws {
        let (folder, other) = try (self.bench.makeRecording(1), self.bench.makeRecording(2))
        for recording in [folder, other] { try await self.bench.catalogue.refresh(recording) }
        let script = #"if [ ! -e "$storage/began" ]; then touch "$storage/began"; exec sleep 30; fi"#
        let log = LogLines()
        let store = try self.bench.store(exports: script, logger: log.logger)
        let export = try #require(await store.exports.enqueue(folder.id, ExportSpec()))
        let next = try #require(await store.exports.enqueue(other.id, ExportSpec()))
        try await store.running {
            while !FileManager.default.fileExists(atPath: self.bench.storage + "/began") {
                try await Task.sleep(for: .milliseconds(20))
            }
            try await store.retention.delete(try await self.bench.catalogue.recording(folder.id), because: "a test")
            var failed: [String] = []
            for await event in self.bench.events {
                if event.kind == .exportFailed { failed.append(event.details["reason"] ?? "") }
                if event.kind == .exportFinished, event.details["export"] == next.id { break }
            }
            #expect(failed.isEmpty, "\(failed)")
            #expect(!log.all.contains { $0.hasPrefix("error") }, "\(log.all)")
        }
        await #expect(throws: CatalogueError.self) { try await self.bench.catalogue.export(export.id) }
    }

    @Test func aRepairIsBrokenOffByTheEnd() async throws {
        let log = LogLines()
        let script = #"for turn in $(seq 300); do sleep 0.1; done; touch "$storage/repaired""#
        let store = try self.bench.store(repairs: script, logger: log.logger)
        let group = ServiceGroup(
            services: [store],
            logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        )
        async let running: Void = group.run()
        while self.repairs().isEmpty { try await Task.sleep(for: .milliseconds(20)) }
        await group.triggerGracefulShutdown()
        try await running
        #expect(!FileManager.default.fileExists(atPath: self.bench.storage + "/repaired"))
        #expect(!log.all.contains { $0.hasPrefix("error") }, "\(log.all)")
    }

    @Test func aRoomWithoutExportsHasNoneToOrder() async throws {
        let folder = try self.bench.makeRecording()
        let reference = RecordingReference(id: folder.id.rawValue, folder: folder.path)
        let store = try self.bench.store()
        await store.keeper.started(room: "standup", reference, exports: [])
        await store.keeper.finished(room: "standup", reference, exports: [])
        #expect(try await self.bench.catalogue.recordingsToExport().isEmpty)
        await store.retention.apply(RetentionPolicy(keepBytes: 0))
        #expect(try RecordingFolder.list(storage: self.bench.storage).isEmpty)
    }
}

/// What retention does to a store on a disk.
@Suite(.timeLimit(.minutes(5))) struct RetentionTests {
    private let bench: DaemonBench
    private let log = LogLines()
    private let store: RecordingStore
    private static let everything = RetentionPolicy(keepBytes: 0)

    init() throws {
        self.bench = try DaemonBench()
        self.store = try self.bench.store(logger: self.log.logger)
    }

    /// What was left out, as the log tells.
    private var told: [String] { self.log.all.filter { $0.contains("retention keeps") } }

    private var left: Set<RecordingID> {
        get throws { Set(try RecordingFolder.list(storage: self.bench.storage).map(\.id)) }
    }

    /// A finished recording in the catalogue, with exports of the layout `tracks` in these states.
    private func recording(
        _ second: Int,
        segment: Int? = nil,
        ofSeriesFrom first: RecordingFolder? = nil,
        _ exports: ExportState...
    ) async throws -> RecordingFolder {
        let folder = try self.bench.makeRecording(second, segment: segment, ofSeriesFrom: first)
        var entry = try await self.bench.catalogue.refresh(folder)
        entry.tracks = [
            .init(number: 1, participant: "a", codec: .opus, file: "tracks/1.mka", units: 1, bytes: 1)
        ]
        try await self.bench.catalogue.save(entry)
        try await self.bench.catalogue.exportsOrdered(of: folder.id)
        for state in exports { try await self.note(state, of: folder) }
        return folder
    }

    private func note(_ state: ExportState, of folder: RecordingFolder, participant: String? = nil) async throws {
        var export = ExportEntry(
            recording: folder.id,
            spec: ExportSpec(participant: participant),
            created: .now()
        )
        export.state = state
        try await self.bench.catalogue.save(export)
    }

    @Test func onlyWhatIsExportedOrWantsNoExportIsDeleted() async throws {
        let failed = try await self.recording(1, .failed)
        let queued = try await self.recording(2, .failed, .queued)
        let running = try await self.recording(3, .running)
        let unordered = try self.bench.makeRecording(4)
        try await self.bench.catalogue.refresh(unordered)
        let unreadable = try await self.recording(5, .done)
        try Data("{".utf8).write(to: URL(filePath: unreadable.manifestPath))
        let goesOn = try self.bench.makeRecording(6, isFinished: false)
        let reference = RecordingReference(id: goesOn.id.rawValue, folder: goesOn.path)
        await self.store.keeper.started(room: "standup", reference, exports: [])
        let kept = [failed, queued, running, unordered, unreadable, goesOn].map(\.id)

        let partly = try await self.recording(10, .done)
        try await self.note(.failed, of: partly, participant: "alice")
        let gone = try await self.recording(11, .done)
        try FileManager.default.removeItem(atPath: gone.path)
        let deletable = [
            partly, gone, try await self.recording(7), try await self.recording(8, .done),
            try await self.recording(9, .failed, .done),
        ]

        await self.store.retention.apply(Self.everything)
        #expect(try self.left == Set(kept))
        for folder in deletable {
            await #expect(throws: CatalogueError.self) { try await self.bench.catalogue.recording(folder.id) }
        }
        for id in kept { #expect(try await self.bench.catalogue.recording(id).id == id) }
    }

    /// Of days ago, its journal says, but it was written just now.
    @Test func whatBeganBeforeTheClockWasSetIsKept() async throws {
        let folder = try await self.recording(1, .done)
        let policy = RetentionPolicy(keep: .seconds(3600))
        await self.store.retention.apply(policy)
        #expect(try self.left == [folder.id])
        let date = Date(timeIntervalSinceNow: -7200)
        try FileManager.default.setAttributes([.modificationDate: date], ofItemAtPath: folder.journalPath)
        await self.store.retention.apply(policy)
        #expect(try self.left.isEmpty)
    }

    @Test func noSegmentOfASeriesThatIsExportedIsDeleted() async throws {
        let first = try await self.recording(1, segment: 1, .done)
        let second = try await self.recording(2, segment: 2, ofSeriesFrom: first, .done)
        _ = try await self.recording(3, .done)
        var series = ExportEntry(recording: first.id, spec: ExportSpec(series: true), created: .now())
        try await self.bench.catalogue.save(series)
        await self.store.retention.apply(Self.everything)
        #expect(try self.left == [first.id, second.id])
        series.state = .done
        try await self.bench.catalogue.save(series)
        await self.store.retention.apply(Self.everything)
        #expect(try self.left.isEmpty)
    }

    @Test func noSegmentOfASeriesThatIsToBeBroughtTogetherIsDeleted() async throws {
        let first = try await self.recording(1, segment: 1, .done)
        let second = try await self.recording(2, segment: 2, ofSeriesFrom: first, .done)
        _ = try await self.recording(3, .done)
        self.store.retention.keep(series: [first.id.rawValue: "standup", "another": "x/y"])
        await self.store.retention.apply(Self.everything)
        #expect(try self.left == [first.id, second.id])
        self.store.retention.keep(series: [:])
        await self.store.retention.apply(Self.everything)
        #expect(try self.left.isEmpty)
    }

    /// What each segment has of its own does not stand for all of them in one file.
    @Test func noSegmentOfASeriesWhoseExportFailedIsDeleted() async throws {
        let first = try await self.recording(1, segment: 1, .done)
        let second = try await self.recording(2, segment: 2, ofSeriesFrom: first, .done)
        let silent = try self.bench.makeRecording(3, segment: 3, ofSeriesFrom: first)
        try await self.bench.catalogue.refresh(silent)
        try await self.bench.catalogue.exportsOrdered(of: silent.id)
        _ = try await self.recording(4, .done)
        var series = ExportEntry(recording: first.id, spec: ExportSpec(series: true), created: .now())
        series.state = .failed
        try await self.bench.catalogue.save(series)
        await self.store.retention.apply(Self.everything)
        #expect(try self.left == [first.id, second.id])
        #expect(self.told.count == 2 && self.told.contains { $0.contains("\(second.id)") }, "\(self.told)")
        var again = ExportEntry(recording: first.id, spec: ExportSpec(series: true), created: .now())
        again.state = .done
        try await self.bench.catalogue.save(again)
        await self.store.retention.apply(Self.everything)
        #expect(try self.left.isEmpty)
    }

    @Test func whatIsLeftOutIsToldOnce() async throws {
        let failed = try await self.recording(1, .failed)
        let unreadable = try await self.recording(2, .done)
        try Data("{".utf8).write(to: URL(filePath: unreadable.manifestPath))
        _ = try await self.recording(3, .queued)
        for _ in 0..<3 { await self.store.retention.apply(Self.everything) }
        #expect(self.told.count == 2, "\(self.told)")
        #expect(self.told.contains { $0.contains("\(failed.id)") && $0.contains("export") })
        #expect(self.told.contains { $0.contains("\(unreadable.id)") && $0.contains("cannot be read") })
        let figure = "tapedeck_storage_held_back_recordings"
        #expect(self.bench.metrics.registry.text().contains("\(figure) 2\n"))
        // Mended by a person, both are like any other.
        try await self.note(.done, of: failed)
        try FileManager.default.removeItem(atPath: unreadable.manifestPath)
        await self.store.retention.apply(Self.everything)
        #expect(try self.left.count == 1 && self.told.count == 2)
        #expect(self.bench.metrics.registry.text().contains("\(figure) 0\n"))
    }

    @Test func whatIsNotDueIsNotToldOf() async throws {
        _ = try await self.recording(1, .failed)
        await self.store.retention.apply(RetentionPolicy(keepBytes: 1 << 40))
        await self.store.retention.apply(RetentionPolicy())
        #expect(try self.left.count == 1 && self.told.isEmpty)
    }

    /// What cannot be read takes room as well, and frees none.
    @Test func noMoreIsDeletedThanMakesRoom() async throws {
        let unreadable = try await self.recording(1, .done)
        try Data("{".utf8).write(to: URL(filePath: unreadable.manifestPath))
        let old = try await self.recording(2, .done)
        let new = try await self.recording(3, .done)
        let bytes = try await self.bench.catalogue.totals().bytes
        await self.store.retention.apply(RetentionPolicy(keepBytes: bytes - 1))
        #expect(try self.left == Set([unreadable.id, new.id]), "\(old.id) is the oldest that may go")
    }

    /// A process writes it, whatever the catalogue was made to believe.
    @Test func whatIsBeingWrittenIsNotDeleted() async throws {
        let held = try await self.recording(1, .done)
        let other = try await self.recording(2, .done)
        let entry = try await self.bench.catalogue.recording(held.id)
        var journal: JournalWriter? = try JournalWriter(folder: held)
        try #require(try journal?.lock() == true)
        await self.store.retention.apply(Self.everything)
        await self.store.retention.apply(RetentionPolicy(keep: .zero))
        #expect(try self.left == [held.id], "and not \(other.id)")
        #expect(self.told.isEmpty, "there is nothing for a person to do")
        let backend = self.bench.backend(self.bench.supervisor(store: self.store), self.store)
        let error = await #expect(throws: ControlError.self) { try await backend.deleteRecording(held.id.rawValue) }
        #expect(error?.code == .conflict && error?.message.contains("still writes or closes") == true)
        #expect(try await self.bench.catalogue.recording(held.id) == entry)
        journal = nil
        try await backend.deleteRecording(held.id.rawValue)
        #expect(try self.left.isEmpty)
    }

    /// What one participant sends now costs nobody his archive.
    @Test func onlyFinishedRecordingsCount() async throws {
        let old = try await self.recording(1, .done)
        let bytes = try await self.bench.catalogue.totals().bytes
        let goesOn = try self.bench.makeRecording(2, isFinished: false)
        try Data(count: 1_000_000).write(to: URL(filePath: goesOn.tracksPath + "/001-alice-audio.mka"))
        let reference = RecordingReference(id: goesOn.id.rawValue, folder: goesOn.path)
        await self.store.keeper.started(room: "standup", reference, exports: [])
        #expect(try await self.bench.catalogue.totals().bytes > 1_000_000)
        await self.store.retention.apply(RetentionPolicy(keepBytes: bytes))
        #expect(try self.left == [old.id, goesOn.id])
        await self.store.retention.apply(RetentionPolicy(keepBytes: bytes - 1))
        #expect(try self.left == [goesOn.id])
    }
}

/// Each recording's end is reported once, in however many lives, and the exports that the room orders are made.
@Suite(.timeLimit(.minutes(5))) struct RecordingEndTests {
    private let bench: DaemonBench

    init() throws {
        self.bench = try DaemonBench()
    }

    private static func reference(_ folder: RecordingFolder) -> RecordingReference {
        RecordingReference(id: folder.id.rawValue, folder: folder.path)
    }

    /// The end of a life in which nothing more is published.
    private func ends(_ body: (RecordingStore) async throws -> Void, _ store: RecordingStore) async throws -> [String] {
        try await body(store)
        self.bench.bus.publish(.roomAdded, room: "mark")
        var ends: [String] = []
        for await event in self.bench.events {
            if event.kind == .roomAdded { break }
            guard [.recordingFinished, .recordingRepaired].contains(event.kind) else { continue }
            ends.append("\(event.kind.rawValue) \(event.recording ?? "-") \(event.details["reason"] ?? "-")")
        }
        return ends
    }

    /// The start of a life.
    private func life(_ store: RecordingStore) async throws -> [String] {
        try await self.ends({ await $0.recovery.takeUp() }, store)
    }

    @Test func whatItsWorkerClosedAloneIsReportedOnce() async throws {
        _ = try await self.bench.catalogue.rebuild()
        let known = try self.bench.makeRecording(1)
        let unknown = try self.bench.makeRecording(2)
        await (try self.bench.store()).keeper.started(room: "standup", Self.reference(known), exports: [])
        let first = try await self.life(try self.bench.store())
        #expect(
            first.sorted() == [known, unknown].map { "recording.finished \($0.id) stopped" }.sorted(),
            "the journal has the reason"
        )
        for _ in 0..<3 { #expect(try await self.life(try self.bench.store()) == []) }
    }

    @Test func whatAWorkerEndedIsReportedOnce() async throws {
        let folder = try self.bench.makeRecording(1)
        let store = try self.bench.store()
        let reported = try await self.ends(
            { store in
                await store.keeper.started(room: "standup", Self.reference(folder), exports: [])
                for _ in 0..<2 {
                    await store.keeper.finished(room: "standup", Self.reference(folder), reason: "empty", exports: [])
                    await store.keeper.refreshActive()
                }
            },
            store
        )
        #expect(reported == ["recording.finished \(folder.id) empty"])
        #expect(try await self.life(try self.bench.store()) == [])
    }

    /// Another life's repair, or somebody's at a terminal, of which the daemon did not hear.
    @Test(arguments: [true, false])
    func whatWasRepairedIsReportedOnce(isHeard: Bool) async throws {
        let folder = try self.bench.makeRecording(1, isFinished: false)
        try await self.bench.catalogue.refresh(folder)
        let journal = try JournalWriter(folder: folder)
        try journal.append(.recordingFinished(RecordingFinished(reason: "repaired")), monotonicNanoseconds: 1)
        let line = #"{"id":"\#(folder.id)","folder":"\#(folder.path)","room":"standup","unreadable":{}}"#
        let store = try self.bench.store(repairs: isHeard ? "echo '\(line)'" : "exit 0")
        #expect(try await self.life(store) == ["recording.repaired \(folder.id) -"])
        #expect(try await self.life(try self.bench.store()) == [])
    }

    /// The catalogue knows that it is finished, and the end was not reported: somebody's repair, or a disk that was full then.
    @Test(arguments: [true, false])
    func whatIsKnownAsFinishedIsReportedOnce(isStarted: Bool) async throws {
        _ = try await self.bench.catalogue.rebuild()
        let folder = try self.bench.makeRecording(1)
        _ = try await self.bench.catalogue.rebuild()
        let expected = ["recording.finished \(folder.id) stopped"]
        let store = try self.bench.store()
        if isStarted {
            #expect(try await self.ends({ await $0.keeper.refreshActive() }, store) == expected)
        } else {
            #expect(try await self.life(store) == expected)
        }
        #expect(try await self.ends({ await $0.keeper.refreshActive() }, store) == [])
    }

    /// They were reported in its time.
    @Test func whatANewCatalogueFindsIsNotReported() async throws {
        let folders = try (1...3).map { try self.bench.makeRecording($0) }
        for folder in folders { try await self.bench.catalogue.refresh(folder) }
        #expect(try await self.bench.catalogue.rebuild().kept == 3)
        #expect(try await self.life(try self.bench.store()) == [])
        let next = try self.bench.makeRecording(4)
        #expect(try await self.life(try self.bench.store()) == ["recording.finished \(next.id) stopped"])
    }

    /// Neither the note nor the delivery is there without the other, whenever the daemon dies.
    @Test func theNoteAndTheDeliveryAreOne() async throws {
        let dispatcher = WebhookDispatcher(
            catalogue: self.bench.catalogue,
            configuration: Fixture.configuration(["http://127.0.0.1:9/hook"], events: ["recording.finished"]),
            logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        )
        let bus = EventBus(
            life: "life",
            logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() },
            listeners: [],
            webhooks: dispatcher
        )
        func report(_ id: RecordingID) async throws {
            try await bus.publishEnd(of: id, as: .recordingFinished, room: "a", in: self.bench.catalogue)
        }
        func queued() async throws -> Int {
            try await self.bench.catalogue.deliveryCounts().values.reduce(0) { $0 + $1.queued }
        }
        let id = RecordingID.random()
        for (table, what) in [("reported_ends", "note"), ("deliveries", "delivery")] {
            try self.bench.execute(
                "CREATE TRIGGER no BEFORE INSERT ON \(table) BEGIN SELECT RAISE(ABORT, 'not now'); END"
            )
            await #expect(throws: CatalogueError.self, "the \(what) is refused") { try await report(id) }
            #expect(try await queued() == 0)
            #expect(try await !self.bench.catalogue.isEndReported(of: id))
            try self.bench.execute("DROP TRIGGER no")
        }
        for _ in 0..<3 { try await report(id) }
        #expect(try await queued() == 1)
        #expect(try await self.bench.catalogue.isEndReported(of: id))
        // A power cut may take back the last that was written, after it was sent: the receiver knows the id.
        let key = try #require(try await self.bench.catalogue.deliveryCounts().keys.first)
        let first = try #require(try await self.bench.catalogue.dueDelivery(of: key, now: .now()))
        try self.bench.execute("DELETE FROM deliveries; DELETE FROM reported_ends")
        try await report(id)
        let second = try #require(try await self.bench.catalogue.dueDelivery(of: key, now: .now()))
        #expect(first.id == second.id)
    }

    @Test func aRepairOfManyTakesSeveralCommandLines() async throws {
        let ids = Set((0..<2500).map { _ in RecordingID.random() })
        #expect(await (try self.bench.store()).recovery.repair(only: ids))
        let text = try String(contentsOfFile: self.bench.storage + "/repairs", encoding: .utf8)
        let lines = text.split(separator: "\n")
        #expect(lines.count == 3 && lines.allSatisfy { $0.utf8.count < 65_536 })
        let named = lines.flatMap { $0.split(separator: " ") }.compactMap { RecordingID(rawValue: String($0)) }
        #expect(named.count == ids.count && Set(named) == ids)
    }

    // MARK: Exports that the room orders

    /// An export that somebody made at a terminal, between a crash and the next start.
    private func exported(_ folder: RecordingFolder, _ file: String, layout: String = "tracks") throws {
        var manifest = Manifest(room: "standup", id: folder.id, verdict: .complete)
        manifest.exports = [Manifest.Export(file: file, layout: layout, durationNanoseconds: 1, bytes: 1)]
        try manifest.write(folder)
    }

    private static let orders = ["standup": [ExportSpec(), ExportSpec(.init(.grid)), ExportSpec(.init(.audio))]]

    /// What is made by hand, and what of the room's orders is made then.
    @Test(
        arguments: [
            ("/tmp/elsewhere/crashed.mkv", "tracks", [.tracks, .grid, .audio]),
            ("mine.mkv", "tracks", [.tracks, .grid, .audio]), ("call.mkv", "tracks", [.grid, .audio]),
            ("call-grid.mp4", "grid", [.tracks, .audio]),
        ] as [(String, String, [ExportSpec.Layout.Name])]
    )
    func anExportByHandTakesNoOthersPlace(
        file: String,
        layout: String,
        made: [ExportSpec.Layout.Name]
    ) async throws {
        _ = try await self.bench.catalogue.rebuild()
        let folder = try self.bench.makeRecording(1)
        await (try self.bench.store()).keeper.started(room: "standup", Self.reference(folder), exports: [])
        try self.exported(folder, file, layout: layout)
        for _ in 0..<2 {
            let store = try self.bench.store(roomOrders: Self.orders)
            _ = try await self.life(store)
        }
        let exports = try await self.bench.catalogue.exports(of: folder.id)
        #expect(exports.filter { $0.file == nil }.layouts == made)
    }

    /// The daemon dies after it has queued the first.
    @Test func whatWasOrderedInPartIsOrderedWhole() async throws {
        let folder = try self.bench.makeRecording(1)
        let early = try self.bench.store()
        await early.keeper.started(room: "standup", Self.reference(folder), exports: [])
        try await self.bench.catalogue.save(ExportEntry(recording: folder.id, created: .now()))
        _ = try await self.life(try self.bench.store(roomOrders: Self.orders))
        _ = try await self.life(try self.bench.store(roomOrders: Self.orders))
        #expect(try await self.bench.catalogue.exports(of: folder.id).layouts == [.tracks, .grid, .audio])
    }

    /// A room may have got other orders since: what is old is not made anew.
    @Test func whatANewCatalogueFindsExportedIsNotExportedAgain() async throws {
        let folder = try self.bench.makeRecording(1)
        try self.exported(folder, "call.mkv")
        _ = try await self.bench.catalogue.rebuild()
        _ = try await self.life(try self.bench.store(roomOrders: Self.orders))
        #expect(try await self.bench.catalogue.exports(of: folder.id).map(\.file) == ["call.mkv"])
    }
}

extension [ExportEntry] {
    fileprivate var layouts: [ExportSpec.Layout.Name] { self.map(\.spec.layout.name) }
}
