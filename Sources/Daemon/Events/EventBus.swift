// SPDX-License-Identifier: Apache-2.0

import API
import Basics
import Logging
import Observability
import Storage
import Synchronization

/// Numbers what happens, logs it, and hands it to whoever listens.
///
/// Callable from any thread; listeners must not block.
final class EventBus: Sendable {
    private let sequence = Atomic<UInt64>(0)
    private let logger: Logger
    private let listeners: [@Sendable (DaemonEvent) -> Void]

    /// A bus with all its listeners.
    init(logger: Logger, listeners: [@Sendable (DaemonEvent) -> Void]) {
        self.logger = logger
        self.listeners = listeners
    }

    /// Tells everybody.
    func publish(
        _ kind: DaemonEvent.Kind,
        room: String? = nil,
        recording: String? = nil,
        _ details: [String: String] = [:]
    ) {
        let event = DaemonEvent(
            sequence: self.sequence.add(1, ordering: .relaxed).newValue,
            time: UTCTime.now().iso8601,
            kind: kind,
            room: room,
            recording: recording,
            details: details
        )
        self.log(event)
        for listener in self.listeners { listener(event) }
    }

    private func log(_ event: DaemonEvent) {
        var metadata: [LogKey: Logger.MetadataValue] = [.eventKind: "\(event.kind.rawValue)"]
        if let room = event.room { metadata[.roomName] = "\(room)" }
        if let recording = event.recording { metadata[.recordingID] = "\(recording)" }
        if !event.details.isEmpty {
            metadata[.detail] =
                "\(event.details.sorted { $0.key < $1.key }.map { "\($0.key): \($0.value)" }.joined(separator: ", "))"
        }
        self.logger.log(level: event.kind.level, "event", metadata: .tagged(metadata))
    }
}

extension DaemonEvent.Kind {
    /// How loud the log is about it.
    fileprivate var level: Logger.Level {
        switch self {
        case .exportProgress: .debug
        case .participantJoined, .participantLeft, .exportStarted, .workerStarted: .info
        case .roomJoined, .roomLeft, .roomAdded, .roomChanged, .roomRemoved, .recordingStarted, .recordingFinished,
            .recordingDeleted, .recordingRepaired, .exportFinished, .configurationReloaded, .diskRecovered,
            .outputRecovered:
            .notice
        case .roomUnreachable, .participantRefused, .workerExited, .configurationRefused, .outputFailed: .warning
        case .recordingDegraded, .exportFailed, .workerCrashLoop, .diskLow: .error
        }
    }
}
