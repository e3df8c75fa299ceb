// SPDX-License-Identifier: Apache-2.0

internal import Signalling
internal import Synchronization

/// Everything that happens to a client, in one bounded queue with one reader.
final class MachineInbox: Sendable {
    /// The driver's timers.
    enum Timer: Hashable, Sendable {
        /// A timer of the machine.
        case machine(SignallingTimer)
        /// The next attempt.
        case retry
        /// Limit for leaving.
        case leave
        /// Limit for what still goes out at the end.
        case closing
    }

    /// One thing that happened.
    ///
    /// Numbers distinguish late ones of earlier attempts, sockets and streams.
    enum Input: Sendable {
        /// The session wants something.
        case command(RoomCommand)
        /// Something happened on a WebSocket.
        case webSocket(WebSocketConnection.Event, socket: Int)
        /// A request ended.
        case request(HTTPRequest.ID, Result<HTTPAnswer, SignallingError>, attempt: Int)
        /// Something happened on a stream.
        case stream(StreamEvent, stream: Int)
        /// Something happened on an XMPP stream.
        case xmpp(XMPPEvent, stream: Int)
        /// A timer fired.
        case timer(Timer, serial: Int)
    }

    /// Most inputs that wait.
    ///
    /// Network and timers have a few outstanding, so only commands can fill it.
    static let maximumInputs = 4096
    /// Most room events that wait for their reader.
    static let maximumEvents = 4096

    /// The waiting inputs.
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

    /// Whether something was lost; then the run cannot continue.
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
