// SPDX-License-Identifier: Apache-2.0

internal import Signalling
internal import Synchronization

/// Everything that happens to a client, in one bounded queue with one reader.
final class SocketIOInbox: Sendable {
    /// The driver's timers.
    enum Timer: Hashable, Sendable {
        /// A timer of the connection's machine.
        case engine(EngineIOSessionStateMachine.Timer)
        /// A timer of the room's machine.
        case room(SocketIORoomStateMachine.Timer)
        /// Limit for connecting, up to the namespace.
        case connect
        /// The next attempt.
        case retry
    }

    /// One thing that happened.
    ///
    /// Numbers tell late ones of earlier connections.
    enum Input: Sendable {
        /// The session wants something.
        case command(RoomCommand)
        /// A GET ended.
        case polled(PollingTransport.Outcome, connection: Int)
        /// A POST ended.
        case posted(PollingTransport.Outcome, connection: Int)
        /// Something happened on a WebSocket; several may be opened on one connection.
        case webSocket(WebSocketConnection.Event, socket: Int)
        /// A timer fired.
        case timer(Timer, serial: Int)
    }

    /// Most inputs that wait.
    ///
    /// Network and timers have a few outstanding, so only commands can fill it.
    static let maximumInputs = 4096

    /// What waits.
    ///
    /// One reader.
    let inputs: AsyncStream<Input>
    private let continuation: AsyncStream<Input>.Continuation
    private let overflow = Mutex(false)

    init() {
        (self.inputs, self.continuation) = AsyncStream.makeStream(
            of: Input.self,
            bufferingPolicy: .bufferingOldest(Self.maximumInputs)
        )
    }

    /// Whether something was lost; then the run cannot go on.
    var hasOverflowed: Bool { self.overflow.withLock { $0 } }

    /// Adds an input.
    ///
    /// Never blocks; callable from any thread.
    func put(_ input: Input) {
        if case .dropped = self.continuation.yield(input) {
            self.overflow.withLock { $0 = true }
        }
    }
}
