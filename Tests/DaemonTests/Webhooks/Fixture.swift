// SPDX-License-Identifier: Apache-2.0

import Basics
import Catalogue
import ConfigurationFile
import FoundationEssentials
import Logging
import Model
import NIOCore
import Storage
import Synchronization

@testable import Daemon

/// A catalogue of its own for each test, and the log as a stream.
final class Fixture: Sendable {
    let storage: String
    let catalogue: Catalogue
    let log = LogLines()

    init() throws {
        self.storage = FileManager.default.temporaryDirectory.path + "/tapedeck-webhooks-\(RecordingID.random())"
        try FileManager.default.createDirectory(atPath: self.storage, withIntermediateDirectories: true)
        self.catalogue = try Catalogue.open(storage: self.storage)
    }

    deinit {
        try? FileManager.default.removeItem(atPath: self.storage)
    }

    static func event(_ sequence: UInt64 = 1, _ kind: DaemonEvent.Kind = .recordingFinished) -> DaemonEvent {
        DaemonEvent(
            id: EventID(life: "life", sequence: sequence),
            time: "2026-11-21T03:12:26.000Z",
            kind: kind,
            room: "standup",
            recording: "k3v9q2wtb4n50xjc",
            details: ["reason": "stopped"]
        )
    }

    static func configuration(
        _ urls: [String],
        events: [String] = ["*"],
        allowedHosts: [String] = []
    ) -> WebhooksConfiguration {
        var configuration = WebhooksConfiguration()
        configuration.allowedHosts = allowedHosts
        configuration.targets = urls.map { url in
            WebhookConfiguration(
                url: Secret(url),
                target: "target",
                secret: Secret("hush-hush"),
                events: events.compactMap(EventPattern.init)
            )
        }
        return configuration
    }

    func dispatcher(
        _ configuration: WebhooksConfiguration,
        schedule: RetrySchedule = RetrySchedule(first: .milliseconds(10), longest: .milliseconds(20)),
        limit: Int = 1000,
        timeLimit: Duration = .seconds(60),
        resolve: @escaping WebhookSender.Resolver = WebhookSender.systemResolver,
        now: @escaping @Sendable () -> UTCTime = { .now() }
    ) -> WebhookDispatcher {
        WebhookDispatcher(
            catalogue: self.catalogue,
            configuration: configuration,
            logger: self.log.logger,
            schedule: schedule,
            limit: limit,
            now: now,
            resolve: resolve,
            timeLimit: timeLimit
        )
    }
}

extension WebhookDispatcher {
    /// Runs the dispatcher for as long as the body takes.
    func running<Value: Sendable>(_ body: @Sendable () async throws -> Value) async throws -> Value {
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { await self.run() }
            defer { self.shutdown() }
            return try await body()
        }
    }
}

/// Every line of a log: kept, and as a stream to wait for one.
final class LogLines: Sendable {
    private let lines = Mutex<[String]>([])
    private let stream: AsyncStream<String>
    private let continuation: AsyncStream<String>.Continuation

    init() {
        (self.stream, self.continuation) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(10_000))
    }

    var logger: Logger {
        Logger(label: "test") { _ in Handler(lines: self) }
    }

    var all: [String] { self.lines.withLock { $0 } }

    /// Returns when so many more lines with the text have come.
    func wait(for text: String, count: Int = 1) async {
        var left = count
        for await line in self.stream where line.contains(text) {
            left -= 1
            if left == 0 { return }
        }
    }

    private func add(_ line: String) {
        self.lines.withLock { $0.append(line) }
        self.continuation.yield(line)
    }

    private struct Handler: LogHandler {
        let lines: LogLines
        var metadata: Logger.Metadata = [:]
        var logLevel = Logger.Level.trace

        subscript(metadataKey key: String) -> Logger.Metadata.Value? {
            get { self.metadata[key] }
            set { self.metadata[key] = newValue }
        }

        func log(event: LogEvent) {
            self.lines.add("\(event.level) \(event.message) \(event.metadata ?? [:])")
        }
    }
}
