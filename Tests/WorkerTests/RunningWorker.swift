// SPDX-License-Identifier: Apache-2.0

import Foundation
import Logging
import Model
import Signalling
import Synchronization
import Testing

@testable import Worker

/// A room server that the test plays: it says what the test tells it to.
final class FakeSignaller: Signaller {
    let events: AsyncStream<RoomEvent>
    private let feed: AsyncStream<RoomEvent>.Continuation
    private let ends: AsyncStream<SignallingError?>
    private let end: AsyncStream<SignallingError?>.Continuation

    init() {
        (self.events, self.feed) = AsyncStream.makeStream()
        (self.ends, self.end) = AsyncStream.makeStream()
    }

    func say(_ event: RoomEvent) { self.feed.yield(event) }

    func fail(_ error: SignallingError) { self.end.yield(error) }

    func run() async throws {
        defer { self.feed.finish() }
        for await error in self.ends {
            if let error { throw error }
            return
        }
    }

    func send(_ command: RoomCommand) {
        guard command == .leave else { return }
        self.feed.yield(.left)
        self.end.yield(nil)
    }
}

/// A worker at the other end of two pipes.
final class RunningWorker: Sendable {
    private let input = Pipe()
    private let output = Pipe()
    private let received = Mutex<[WorkerEvent]>([])
    private let signallers = Mutex<[String: FakeSignaller]>([:])
    let storage = FileManager.default.temporaryDirectory.appending(path: "tapedeck-\(UUID())").path

    /// Runs `body` with a worker, then closes the worker's input; returns when the worker has ended.
    static func run(_ body: (RunningWorker) async throws -> Void) async throws -> RunningWorker {
        let running = RunningWorker()
        let (input, output) = (running.input, running.output)
        var logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        logger.logLevel = .critical
        let worker = WorkerProcess(
            input: input.fileHandleForReading.fileDescriptor,
            output: output.fileHandleForWriting.fileDescriptor,
            host: "here",
            logger: logger,
            makeSignaller: { request, _, _ in running.signaller(request.url) },
            abandon: { Issue.record("a room hangs") }
        )
        let splitter = Mutex(LineSplitter())
        async let drained: Void = Self.drain(output.fileHandleForReading) { data in
            running.take(splitter.withLock { $0.take(data) })
        }
        async let ended: Void = worker.run()
        let result = await Result { try await body(running) }
        try? input.fileHandleForWriting.close()
        await ended
        try output.fileHandleForWriting.close()
        await drained
        try? FileManager.default.removeItem(atPath: running.storage)
        try result.get()
        return running
    }

    /// Reads on a thread of its own until the other end is closed.
    private static func drain(_ handle: FileHandle, _ take: @escaping @Sendable (Data) -> Void) async {
        await withCheckedContinuation { continuation in
            let descriptor = handle.fileDescriptor
            Thread.detachNewThread {
                var chunk = [UInt8](repeating: 0, count: 1 << 16)
                while true {
                    let count = read(descriptor, &chunk, chunk.count)
                    if count < 0, errno == EINTR { continue }
                    guard count > 0 else { break }
                    take(Data(chunk.prefix(count)))
                }
                continuation.resume()
            }
        }
    }

    private func signaller(_ url: RoomURL) -> FakeSignaller {
        let signaller = FakeSignaller()
        self.signallers.withLock { $0[url.roomName] = signaller }
        return signaller
    }

    private func take(_ lines: [LineSplitter.Line]) {
        let events = lines.compactMap { line -> WorkerEvent? in
            guard case .whole(let data) = line else { return nil }
            return try? WorkerLine.decode(WorkerEvent.self, from: data)
        }
        self.received.withLock { $0 += events }
    }

    var events: [WorkerEvent] { self.received.withLock { $0 } }

    /// What happened, but for heartbeats and statuses.
    var facts: [WorkerEvent] {
        self.events.filter {
            switch $0 {
            case .heartbeat, .status: false
            default: true
            }
        }
    }

    func room(_ name: String) -> FakeSignaller? { self.signallers.withLock { $0[name] } }

    func order(_ name: String) -> RoomSpec {
        RoomSpec(name: name, url: "socketio+http://127.0.0.1:1/\(name)", storage: self.storage)
    }

    func send(_ command: WorkerCommand, number: UInt64? = nil) throws {
        let line = try WorkerLine.encode(NumberedCommand(command, number: number))
        try self.input.fileHandleForWriting.write(contentsOf: line)
    }

    func send(text: String) throws {
        try self.input.fileHandleForWriting.write(contentsOf: Data(text.utf8))
    }

    /// Waits until something holds; the limit is for a worker that hangs.
    func eventually(_ condition: (RunningWorker) -> Bool) async -> Bool {
        let deadline = ContinuousClock.now + .seconds(60)
        while !condition(self) {
            guard ContinuousClock.now < deadline else { return false }
            try? await Task.sleep(for: .milliseconds(10))
        }
        return true
    }

    func says(_ event: WorkerEvent) async -> Bool {
        await self.eventually { $0.events.contains(event) }
    }

    /// Waits until a status of `room` says that a revision is in force, but for what is refused.
    func has(_ refused: [RoomPart: String]?, inForceAt revision: UInt64) async -> Bool {
        await self.eventually { worker in
            worker.events.contains {
                guard case .status("room", let status) = $0 else { return false }
                return status.revision == revision && status.refused == refused
            }
        }
    }

    /// Joins a room whose server lets us in.
    func join(_ name: String) async throws {
        try self.send(.be(self.order(name), revision: 1))
        #expect(await self.eventually { $0.room(name) != nil })
        self.room(name)?.say(.joined(ownID: PeerID("us")))
        #expect(await self.says(.joined(room: name)))
    }
}

extension Result where Failure == any Error {
    fileprivate init(_ body: () async throws -> Success) async {
        do {
            self = .success(try await body())
        } catch {
            self = .failure(error)
        }
    }
}
