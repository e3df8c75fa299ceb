// SPDX-License-Identifier: Apache-2.0

import API
import Catalogue
import Foundation
import Rooms
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
        let export = try #require(await store.enqueue(folder.id, ExportSpec(layout: "tracks")))
        return try await store.running {
            let event = try #require(await self.bench.next(kind))
            return (event, try await self.bench.catalogue.export(export.id))
        }
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

    @Test func theLastProgressIsToldBeforeTheEnd() async throws {
        let folder = try self.bench.makeRecording()
        try await self.bench.catalogue.refresh(folder)
        let script = [50, 99, 100].map { #"echo '{"progress":{"bytesDone":\#($0),"bytesTotal":100}}'"# }
        let store = try self.bench.store(exports: script.joined(separator: "\n"))
        _ = try #require(await store.enqueue(folder.id, ExportSpec(layout: "tracks")))
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
            await store.started(room: "standup", reference, exports: [])
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
        await store.started(room: "standup", reference, exports: [])
        for _ in 0..<3 { await store.closeAbandoned(except: []) }
        #expect(await store.active.count == 1 && self.repairs().isEmpty)
        if let journal { try DaemonBench.finish(journal) }
        journal = nil
        await store.closeAbandoned(except: [])
        #expect(await store.active.isEmpty)
        #expect(self.repairs().map { $0.hasSuffix("--only \(folder.id)") } == [true])
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
}
