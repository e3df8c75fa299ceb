// SPDX-License-Identifier: Apache-2.0

public import Logging
public import Signalling
internal import Synchronization

/// A member of a Socket.IO room: Engine.IO 3 and 4, polling and WebSocket (protocols.md section A).
///
/// Connects, joins, answers heartbeats, reconnects as the policy says, and leaves. A call reset (`RoomCommand.resetCall`)
/// reports the peer as left, leaves the room and joins it again; in a room with other members it is ignored, because
/// it would end their calls too: there the session offers again.
public final class SocketIOClient: Signaller {
    /// Most room events that wait for their reader.
    public static let maximumEvents = 4096

    /// What the room tells us, in order.
    public let events: AsyncStream<RoomEvent>

    private let configuration: Configuration
    private let policy: JoinPolicy
    private let logger: Logger
    private let inbox = SocketIOInbox()
    private let continuation: AsyncStream<RoomEvent>.Continuation
    private let hasRun = Mutex(false)

    /// A client that is not connected yet.
    ///
    /// - Parameter logger: Gets the keys of the room and server; carries what the caller put there, such as the session.
    public init(configuration: Configuration, policy: JoinPolicy, logger: Logger) {
        self.configuration = configuration
        self.policy = policy
        self.logger = logger
        (self.events, self.continuation) = AsyncStream.makeStream(
            of: RoomEvent.self,
            bufferingPolicy: .bufferingOldest(Self.maximumEvents)
        )
    }

    /// Joins and stays until `RoomCommand.leave` or until the policy gives up.
    ///
    /// Cancelling the task leaves the room first: 2 s for the room's answer and 1 s for closing at most.
    /// - Throws: `SignallingError`.
    public func run() async throws {
        let isFirst = self.hasRun.withLock { hasRun in
            defer { hasRun = true }
            return !hasRun
        }
        guard isFirst else {
            throw SignallingError(.refused, "A signaller runs once: make another one.", blame: .ours)
        }
        let (configuration, policy, logger) = (self.configuration, self.policy, self.logger)
        let (inbox, continuation) = (self.inbox, self.continuation)
        // Unstructured because a cancelled task cannot send any more, and leaving the room is what a cancelled run still
        // does. Owned and awaited here, so nothing outlives the run.
        let driving = Task { () async -> SignallingError? in
            let driver = SocketIODriver(
                configuration: configuration,
                policy: policy,
                logger: logger,
                inbox: inbox,
                events: continuation
            )
            return await driver.run()
        }
        let failure = await withTaskCancellationHandler {
            await driving.value
        } onCancel: {
            inbox.put(.command(.leave))
        }
        self.continuation.finish()
        if let failure { throw failure }
    }

    /// Queues a command.
    ///
    /// Never blocks; callable from any thread.
    public func send(_ command: RoomCommand) {
        self.inbox.put(.command(command))
    }
}
