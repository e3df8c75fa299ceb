// SPDX-License-Identifier: Apache-2.0

public import Logging
public import Signalling
internal import Synchronization

/// State that the clients of one process share with each other and with later runs.
public struct SignallerEnvironment: Sendable {
    /// PEM file of certificates that are trusted in addition to the system's.
    public var trustedCertificatesFile: String?
    /// Folder for the notes that machines keep beyond a crash; nil keeps none.
    public var notesDirectory: String?
    /// Gets everything that goes to and comes from the machine of one run; nil traces nothing.
    public var trace: TraceFile?

    /// Nothing shared.
    public init() {}
}

/// A member of a room whose protocol is a `SignallingMachine`.
///
/// Opens what the machine asks for, tries again as the policy says, and leaves.
public final class MachineClient<Address: RoomAddress>: Signaller {
    /// Events of the room, in order.
    public let events: AsyncStream<RoomEvent>

    private let address: Address
    private let options: SignallingOptions
    private let environment: SignallerEnvironment
    private let logger: Logger
    private let inbox = MachineInbox()
    private let continuation: AsyncStream<RoomEvent>.Continuation
    private let hasRun = Mutex(false)

    /// A client that is not connected yet.
    ///
    /// - Parameter logger: Gets the keys of the room and server; carries what the caller put there, such as the session.
    public init(_ address: Address, options: SignallingOptions, environment: SignallerEnvironment, logger: Logger) {
        self.address = address
        self.options = options
        self.environment = environment
        self.logger = logger
        (self.events, self.continuation) = AsyncStream.makeStream(
            of: RoomEvent.self,
            bufferingPolicy: .bufferingOldest(MachineInbox.maximumEvents)
        )
    }

    /// Joins and stays until `RoomCommand.leave` or until the policy allows no further attempt.
    ///
    /// Cancelling the task leaves the room first: 2 s for leaving and 1 s for closing at most.
    /// - Throws: `SignallingError`.
    public func run() async throws {
        let isFirst = self.hasRun.withLock { hasRun in
            defer { hasRun = true }
            return !hasRun
        }
        guard isFirst else {
            throw SignallingError(.refused, "A signaller runs once: make another one.", blame: .ours)
        }
        let (address, options, environment, logger) = (self.address, self.options, self.environment, self.logger)
        let (inbox, continuation) = (self.inbox, self.continuation)
        // Unstructured because a cancelled task cannot send any more, and leaving the room is what a cancelled run still
        // does. Owned and awaited here, so nothing outlives the run.
        let driving = Task { () async -> SignallingError? in
            environment.trace?.begin(address, options: options)
            let driver = MachineDriver(
                machine: address.makeMachine(options),
                address: address,
                policy: options.policy,
                environment: environment,
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
