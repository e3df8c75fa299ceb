// SPDX-License-Identifier: Apache-2.0

import Basics
import Catalogue
import Logging
import Model
import Observability
import Storage
import Synchronization

/// Numbers what happens, logs it, and hands it to all listeners.
///
/// Callable from any thread; listeners must not block.
final class EventBus: Sendable {
    private let life: String
    private let host: String?
    private let sequence = Atomic<UInt64>(0)
    private let logger: Logger
    private let listeners: [@Sendable (DaemonEvent) -> Void]
    private let webhooks: WebhookDispatcher?

    /// A bus with all its listeners, for one run of the daemon.
    ///
    /// - Parameter host: the name of this host in its cluster; nil without one.
    init(
        life: String,
        host: String? = nil,
        logger: Logger,
        listeners: [@Sendable (DaemonEvent) -> Void],
        webhooks: WebhookDispatcher? = nil
    ) {
        self.life = life
        self.host = host
        self.logger = logger
        self.listeners = listeners
        self.webhooks = webhooks
    }

    /// Notifies every listener.
    func publish(
        _ kind: DaemonEvent.Kind,
        room: String? = nil,
        recording: String? = nil,
        _ details: [String: String] = [:]
    ) {
        let event = self.event(kind, room: room, recording: recording, details)
        self.webhooks?.dispatch(event)
        self.tell(event)
    }

    /// Publishes the end of a recording, unless an earlier life or turn did.
    ///
    /// The note that it was reported and the deliveries are stored first, in one step: a daemon that is killed has done both or
    /// neither, and each webhook gets one delivery.
    func publishEnd(
        of id: RecordingID,
        as kind: DaemonEvent.Kind,
        room: String,
        _ details: [String: String] = [:],
        in catalogue: Catalogue
    ) async throws {
        // Numbers without an event would look like a gap.
        guard try await !catalogue.isEndReported(of: id) else { return }
        let event = self.event(kind, room: room, recording: id.rawValue, details)
        if let webhooks = self.webhooks {
            guard try await webhooks.store(event, endOf: id) else { return }
        } else {
            guard try await catalogue.reportEnd(of: id, by: [], limit: 0) != nil else { return }
        }
        self.tell(event)
    }

    private func event(
        _ kind: DaemonEvent.Kind,
        room: String?,
        recording: String?,
        _ details: [String: String]
    ) -> DaemonEvent {
        DaemonEvent(
            id: EventID(life: self.life, sequence: self.sequence.add(1, ordering: .relaxed).newValue),
            time: UTCTime.now().iso8601,
            kind: kind,
            host: self.host,
            room: room,
            recording: recording,
            details: details
        )
    }

    private func tell(_ event: DaemonEvent) {
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
        case .roomJoined, .roomLeft, .roomAdded, .roomChanged, .roomRemoved, .roomMoved, .recordingStarted,
            .recordingPaused, .recordingResumed, .recordingMarked, .recordingFinished, .recordingDeleted,
            .recordingRepaired,
            .exportFinished, .configurationReloaded, .diskRecovered, .outputRecovered, .uploadFinished:
            .notice
        case .roomUnreachable, .participantRefused, .workerExited, .configurationRefused, .outputFailed, .uploadFailed,
            .hostLost:
            .warning
        case .recordingDegraded, .exportFailed, .workerCrashLoop, .diskLow: .error
        }
    }
}
