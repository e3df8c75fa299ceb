// SPDX-License-Identifier: Apache-2.0

internal import CStrophe
internal import Foundation
public import Signalling
internal import Synchronization

/// One XMPP client stream: connects, encrypts, signs in, and carries stanzas both ways.
///
/// A separate thread owns everything of libstrophe. While nothing is said it sleeps.
public final class XMPPConnection: Sendable {
    /// Stanzas that were passed to the owner and that it did not take yet; with more the stream is not read.
    static let maximumUnread = 64
    /// Stanzas that wait to be sent before the connection is dropped.
    static let maximumPending = 2048

    /// Requests of callers to the thread.
    struct Orders: Sendable {
        var stanzas: [XMPPStanza] = []
        var closes = false
        var isCancelled = false
        /// Whether more stanzas waited than are kept.
        var hasOverflowed = false
    }

    private struct State {
        var orders = Orders()
        var unread = 0
        /// The thread sleeps on one end and is woken through the other; -1 before it runs and after it ended.
        var wakeup: Int32 = -1
        /// Our own name of the socket, so that it is shut down safely from any thread.
        var socket: Int32 = -1
        /// Whether the thread may be inside of name resolution, which cannot be interrupted.
        var isResolving = false
        var ended: CheckedContinuation<SignallingError?, Never>?
    }

    private let request: XMPPRequest
    private let trustedCertificatesFile: String?
    private let state = Mutex(State())

    /// A stream that is not open.
    ///
    /// - Parameter trustedCertificatesFile: PEM file of certificates that are trusted in addition to the system's.
    public init(_ request: XMPPRequest, trustedCertificatesFile: String? = nil) {
        self.request = request
        self.trustedCertificatesFile = trustedCertificatesFile
    }

    /// Opens the stream and waits until it is closed.
    ///
    /// Once. Cancelling the task closes it at once.
    ///
    /// - Parameter yield: Called on the connection's thread and, for `closed`, on the caller's executor.
    public func run(yield: @escaping @Sendable (XMPPEvent) -> Void) async {
        let failure = await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                self.state.withLock { $0.ended = continuation }
                self.startThread(yield)
            }
        } onCancel: {
            self.cancel()
        }
        yield(.closed(failure))
    }

    /// Sends a stanza; lost if the stream is closed before it is written.
    ///
    /// Any thread.
    public func send(_ stanza: XMPPStanza) {
        self.order { orders in
            if orders.stanzas.count < Self.maximumPending {
                orders.stanzas.append(stanza)
            } else {
                orders.hasOverflowed = true
            }
        }
    }

    /// Says that a stanza was taken: another one may come.
    ///
    /// Any thread.
    public func read() {
        self.state.withLock { state in
            state.unread -= 1
            if state.unread == Self.maximumUnread - 1 { Self.wake(state.wakeup) }
        }
    }

    /// Closes the stream after what was sent before.
    ///
    /// Any thread.
    public func close() {
        self.order { $0.closes = true }
    }

    /// Closes the connection at once.
    ///
    /// Any thread.
    public func cancel() {
        let continuation = self.state.withLock { state in
            state.orders.isCancelled = true
            // A handshake that hangs ends as well.
            if state.socket >= 0 { shutdown(state.socket, Int32(SHUT_RDWR)) }
            Self.wake(state.wakeup)
            guard state.isResolving else { return CheckedContinuation<SignallingError?, Never>?.none }
            // Nothing is open yet: the thread ends when the resolver returns.
            defer { state.ended = nil }
            return state.ended
        }
        continuation?.resume(returning: nil)
    }

    private func order(_ change: (inout Orders) -> Void) {
        self.state.withLock { state in
            change(&state.orders)
            Self.wake(state.wakeup)
        }
    }

    private static func wake(_ descriptor: Int32) {
        guard descriptor >= 0 else { return }
        var one: UInt64 = 1
        _ = write(descriptor, &one, MemoryLayout.size(ofValue: one))
    }

    // MARK: - The thread's side

    private func startThread(_ yield: @escaping @Sendable (XMPPEvent) -> Void) {
        let thread = Thread {
            // Neither libstrophe nor OpenSSL keeps a broken connection from ending the process.
            var signals = sigset_t()
            sigemptyset(&signals)
            sigaddset(&signals, SIGPIPE)
            pthread_sigmask(SIG_BLOCK, &signals, nil)
            let wakeup = eventfd(0, Int32(EFD_CLOEXEC | EFD_NONBLOCK))
            self.state.withLock { $0.wakeup = wakeup }
            let failure: SignallingError?
            if wakeup < 0 {
                failure = SignallingError(
                    .overloaded,
                    "There are too many open files for an XMPP stream.",
                    blame: .ours
                )
            } else {
                let loop = StropheLoop(
                    self.request,
                    trustedCertificatesFile: self.trustedCertificatesFile,
                    owner: self,
                    wakeup: wakeup,
                    yield: yield
                )
                failure = loop.run()
            }
            self.finish(failure)
        }
        thread.name = "xmpp"
        // Stanzas are walked recursively, and are as deep as their sender likes, up to the limit for their memory.
        thread.stackSize = StropheLoop.stackBytes
        thread.start()
    }

    private func finish(_ failure: SignallingError?) {
        let continuation = self.state.withLock { state in
            if state.wakeup >= 0 { Foundation.close(state.wakeup) }
            if state.socket >= 0 { Foundation.close(state.socket) }
            (state.wakeup, state.socket, state.isResolving) = (-1, -1, false)
            defer { state.ended = nil }
            return state.ended
        }
        continuation?.resume(returning: failure)
    }

    /// Takes what callers wanted since the last call; `isCancelled` and `hasOverflowed` stay.
    func takeOrders() -> Orders {
        self.state.withLock { state in
            defer {
                state.orders.stanzas = []
                state.orders.closes = false
            }
            return state.orders
        }
    }

    /// Counts a stanza that was passed to the owner.
    func countUnread() {
        self.state.withLock { $0.unread += 1 }
    }

    /// Whether the owner takes more stanzas.
    var mayRead: Bool { self.state.withLock { $0.unread < Self.maximumUnread } }

    /// Says that the thread enters or leaves name resolution; false if it is to stop.
    func setResolving(_ isResolving: Bool) -> Bool {
        self.state.withLock { state in
            state.isResolving = isResolving
            return !state.orders.isCancelled
        }
    }

    /// Takes another name of the socket that is about to connect; false if there is none or it is to stop.
    func adopt(socket: Int32) -> Bool {
        self.state.withLock { state in
            if state.socket >= 0 { Foundation.close(state.socket) }
            state.socket = fcntl(socket, F_DUPFD_CLOEXEC, 0)
            return state.socket >= 0 && !state.orders.isCancelled
        }
    }

    /// The socket, to wait for it; only the thread may use it.
    var socket: Int32 { self.state.withLock { $0.socket } }
}
