// SPDX-License-Identifier: Apache-2.0

import Control
import Dispatch
import Fleet
import Foundation
import Model
import Observability
import Storage
import Synchronization
import Testing

@testable import Daemon

/// A disk that does not answer: what reads files waits for it, and nothing else does.
@Suite(.timeLimit(.minutes(5))) struct HangingDiskTests {
    private let bench: DaemonBench

    init() throws {
        self.bench = try DaemonBench()
    }

    /// Work that no disk ends, on the thread of each store; more stores than the machine has processors.
    private func hanging<Value: Sendable>(
        _ stores: [RecordingStore],
        _ body: @Sendable () async throws -> Value
    ) async throws -> Value {
        let disk = DispatchSemaphore(value: 0)
        let (hangs, feed) = AsyncStream.makeStream(of: Void.self)
        return try await withThrowingTaskGroup(of: Void.self) { group in
            for store in stores { group.addTask { await store.exports.hang(on: disk) { feed.yield() } } }
            defer { for _ in stores { disk.signal() } }
            var left = stores.count
            for await _ in hangs {
                left -= 1
                if left == 0 { break }
            }
            return try await body()
        }
    }

    @Test func theOverviewIsAnswered() async throws {
        let store = try self.bench.store()
        let backend = self.bench.backend(self.bench.supervisor(store: store), store)
        store.exports.note(DiskUsage(freeBytes: 17, minimumFreeBytes: 1))
        let others = try (0..<64).map { _ in try self.bench.store() }
        let overview = try await self.hanging([store] + others) { await backend.overview() }
        #expect(overview.freeBytes == 17 && overview.activeRecordings == 0 && overview.pendingExports == 0)
    }

    @Test func theWatchdogIsFed() async throws {
        let store = try self.bench.store()
        let backend = self.bench.backend(self.bench.supervisor(store: store), store)
        let manager = try ServiceManager()
        let (listening, listens) = AsyncStream.makeStream(of: Void.self)
        let signs = ServiceWatchdog(
            notifier: ServiceNotifier(environment: ["NOTIFY_SOCKET": manager.path]),
            backend: backend,
            stopLimit: .seconds(140),
            listening: listening
        )
        let others = try (0..<64).map { _ in try self.bench.store() }
        let told = try await self.hanging([store] + others) {
            await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask { try await signs.run() }
                defer { group.cancelAll() }
                listens.yield()
                return await manager.receive(until: "WATCHDOG=1")
            }
        }
        #expect(told.contains("READY=1") && told.last == "WATCHDOG=1", "\(told)")
    }

    private static let room = "url: 'socketio+http://127.0.0.1:1/room', join: on-demand"

    /// Makes a request of the interface whose pipeline files are on a disk that does not answer, and something else
    /// meanwhile.
    private func whilePipelinesHang(
        _ request: @escaping @Sendable (DaemonBackend) async throws -> Void,
        _ body: @Sendable (DaemonBackend) async throws -> Void
    ) async throws -> Supervisor {
        let store = try self.bench.store()
        let supervisor = self.bench.supervisor(store: store)
        let disk = DispatchSemaphore(value: 0)
        let (hangs, feed) = AsyncStream.makeStream(of: Void.self)
        let backend = self.bench.backend(supervisor, store) { _ in
            feed.yield()
            disk.wait()
            // From then on it answers.
            disk.signal()
        }
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await request(backend) }
            for await _ in hangs { break }
            do {
                defer { disk.signal() }
                try await body(backend)
            }
            try await group.waitForAll()
        }
        return supervisor
    }

    @Test func roomsGoOnWhileOneWaitsForItsPipelines() async throws {
        _ = try await self.whilePipelinesHang { backend in
            let error = await #expect(throws: ControlError.self) {
                _ = try await backend.addRoom("room", definition: "{ \(Self.room), send: { capture: test } }")
            }
            #expect(error?.code == .conflict)
        } _: { backend in
            #expect(await backend.rooms(isLocal: true).rooms.isEmpty)
            _ = try await backend.addRoom("room", definition: "{ \(Self.room) }")
        }
    }

    @Test func whatChangesMeanwhileStays() async throws {
        let supervisor = try await self.whilePipelinesHang { backend in
            _ = try await backend.addRoom("room", definition: "{ \(Self.room) }")
            _ = try await backend.changeRoom("room", patch: #"{"send":{"capture":"test"}}"#)
        } _: { backend in
            _ = try await backend.changeRoom("room", patch: #"{"priority":7}"#)
        }
        let order = await supervisor.fleet.rooms["room"]?.spec
        #expect(order?.priority == 7 && order?.send?.video == .test)
    }

    @Test func figuresFollowWhatIsKnown() async throws {
        let store = try self.bench.store()
        let folder = try self.bench.makeRecording(isFinished: false)
        let reference = RecordingReference(id: folder.id.rawValue, folder: folder.path)
        await store.keeper.started(room: "standup", reference, exports: [])
        #expect(store.figures.activeRecordings == 1)
        await store.keeper.finished(room: "standup", reference, exports: [ExportSpec()])
        #expect(store.figures.activeRecordings == 0 && store.figures.pendingExports == 1)
    }
}

extension ExportService {
    /// Stands for a read that does not come back.
    fileprivate func hang(on disk: DispatchSemaphore, _ hangs: @Sendable () -> Void) {
        hangs()
        disk.wait()
    }
}

/// The socket of a service manager.
private final class ServiceManager: Sendable {
    let path = "/tmp/tapedeck-manager-\(RecordingID.random())"
    private let descriptor: Int32

    init() throws {
        self.descriptor = socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: self.path.utf8) }
        let result = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(self.descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
        try #require(result == 0)
    }

    deinit {
        close(self.descriptor)
        unlink(self.path)
    }

    /// The lines that come, up to one; on a thread that may wait.
    func receive(until last: String) async -> [String] {
        await withCheckedContinuation { continuation in
            Thread.detachNewThread {
                var lines: [String] = []
                var bytes = [UInt8](repeating: 0, count: 4096)
                while lines.last != last {
                    let count = recv(self.descriptor, &bytes, bytes.count, 0)
                    guard count > 0 else { break }
                    let text = String(decoding: bytes.prefix(count), as: UTF8.self)
                    lines += text.split(separator: "\n").map(String.init)
                }
                continuation.resume(returning: lines)
            }
        }
    }
}
