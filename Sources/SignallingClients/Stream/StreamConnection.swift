// SPDX-License-Identifier: Apache-2.0

internal import Basics
internal import NIOCore
internal import NIOPosix
internal import Signalling
internal import Synchronization

/// One bare TCP stream of a client: a connection that is dialled, or a port with one connection after the other.
///
/// `run` opens it and returns when it is closed; until then, the other methods are called from any thread.
///
/// Accepting and reading stop after each event until `read()`, which bounds our memory.
final class StreamConnection: Sendable {
    /// Most bytes that wait to be sent before the connection is dropped.
    static let maximumPendingBytes = 4_000_000
    /// Limit for what still goes out when we hang up.
    private static let hangUpLimit = TimeAmount.seconds(1)

    private struct State {
        /// The listening port.
        var server: (any Channel)?
        /// Channels that are being connected; losers of a race between addresses too.
        var candidates: [any Channel] = []
        /// The connection; the newest of a port.
        var connection: (any Channel)?
        var pendingBytes = 0
        var failure: SignallingError?
        var isCancelled = false
    }

    private let request: StreamRequest
    private let connectTimeout: Duration
    private let state = Mutex(State())

    /// - Parameter connectTimeout: Limit for dialling.
    init(_ request: StreamRequest, connectTimeout: Duration) {
        self.request = request
        self.connectTimeout = connectTimeout
    }

    /// Opens the stream and waits until it is closed.
    ///
    /// Cancelling the task closes it at once.
    ///
    /// - Parameter yield: Called on the stream's event loop or on the caller's executor, in order.
    func run(yield: @escaping @Sendable (StreamEvent) -> Void) async {
        await withTaskCancellationHandler {
            switch self.request {
            case .dial(let host, let port): await self.dial(host, port, yield)
            case .listen(let host, let port): await self.listen(host, port, yield)
            }
        } onCancel: {
            self.cancel()
        }
    }

    /// Sends bytes on the connection.
    ///
    /// Lost if there is none.
    func send(_ bytes: [UInt8]) {
        let (channel, isOver) = self.state.withLock { state in
            state.pendingBytes += bytes.count
            return (state.connection, state.pendingBytes > Self.maximumPendingBytes)
        }
        guard let channel else { return }
        guard !isOver else {
            let name = "\(channel.remoteAddress.map(Self.text) ?? "this address")"
            let error = SignallingError(.overloaded, "The peer at \(name) does not take what we send.", blame: .peer)
            self.state.withLock { $0.failure = $0.failure ?? error }
            channel.close(promise: nil)
            return
        }
        let promise = channel.eventLoop.makePromise(of: Void.self)
        promise.futureResult.whenComplete { _ in
            self.state.withLock { state in
                if state.connection === channel { state.pendingBytes -= bytes.count }
            }
        }
        channel.writeAndFlush(ByteBuffer(bytes: bytes), promise: promise)
    }

    /// Asks for the next event.
    func read() {
        let (server, connection) = self.state.withLock { ($0.server, $0.connection) }
        server?.read()
        connection?.read()
    }

    /// Closes the connection after what was sent; a port stays open.
    func hangUp() {
        guard let channel = self.state.withLock({ $0.connection }) else { return }
        channel.writeAndFlush(ByteBuffer()).whenComplete { _ in channel.close(promise: nil) }
        channel.eventLoop.scheduleTask(in: Self.hangUpLimit) { channel.close(promise: nil) }
    }

    /// Closes everything at once.
    func cancel() {
        let channels = self.state.withLock { state in
            state.isCancelled = true
            return [state.server, state.connection].compactMap { $0 } + state.candidates
        }
        for channel in channels { channel.close(promise: nil) }
    }

    // MARK: - Dialling

    private func dial(_ host: String, _ port: Int, _ yield: @escaping @Sendable (StreamEvent) -> Void) async {
        let address = "\(IPAddress.bracketed(host)):\(port)"
        let bootstrap = ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .connectTimeout(TimeAmount(self.connectTimeout))
            .channelOption(.autoRead, value: false)
            .channelOption(.maxMessagesPerRead, value: 1)
            .channelInitializer { channel in
                let isCancelled = self.state.withLock { state in
                    state.candidates.append(channel)
                    return state.isCancelled
                }
                guard !isCancelled else { return channel.eventLoop.makeFailedFuture(ChannelError.ioOnClosedChannel) }
                return channel.eventLoop.makeCompletedFuture {
                    let handler = StreamHandler(
                        onActive: { _ in },
                        onBytes: { yield(.received($0)) },
                        onEnd: { error in self.note(error, address) }
                    )
                    try channel.pipeline.syncOperations.addHandler(handler)
                }
            }
        do {
            let channel = try await bootstrap.connect(host: host, port: port).get()
            self.state.withLock { state in
                state.candidates = []
                state.connection = channel
            }
            yield(.connected(peer: channel.remoteAddress.map(Self.text) ?? address))
            // A cancellation before this point did not know the connection.
            if self.state.withLock({ $0.isCancelled }) { channel.close(promise: nil) }
            try await channel.closeFuture.get()
            yield(.disconnected(self.state.withLock { $0.failure }))
        } catch {
            yield(.failed(ConnectionFailure.error(for: error, address: address)))
        }
    }

    private func note(_ error: (any Error)?, _ address: String) {
        guard let error else { return }
        let failure = ConnectionFailure.error(for: error, address: address)
        self.state.withLock { $0.failure = $0.failure ?? failure }
    }

    // MARK: - Listening

    private func listen(_ host: String, _ port: Int, _ yield: @escaping @Sendable (StreamEvent) -> Void) async {
        let address = "\(IPAddress.bracketed(host)):\(port)"
        // One loop for the port and its connections, which so become active in the order of their arrival.
        let bootstrap = ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton.next())
            .serverChannelOption(.backlog, value: 8)
            .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
            .serverChannelOption(.autoRead, value: false)
            .serverChannelOption(.maxMessagesPerRead, value: 1)
            .childChannelOption(.autoRead, value: false)
            .childChannelOption(.maxMessagesPerRead, value: 1)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandler(self.handlerOfAccepted(channel, yield))
                }
            }
        do {
            let server = try await bootstrap.bind(host: host, port: port).get()
            let isCancelled = self.state.withLock { state in
                state.server = server
                return state.isCancelled
            }
            if isCancelled { server.close(promise: nil) } else { yield(.listening) }
            try await server.closeFuture.get()
            let last = self.state.withLock { $0.connection }
            last?.close(promise: nil)
            try await last?.closeFuture.get()
            guard !self.state.withLock({ $0.isCancelled }) else { return }
            yield(.failed(SignallingError(.unreachable, "The port \(address) was closed.", blame: .ours)))
        } catch {
            yield(.failed(Self.portFailure(error, address)))
        }
    }

    private func handlerOfAccepted(
        _ channel: any Channel,
        _ yield: @escaping @Sendable (StreamEvent) -> Void
    ) -> StreamHandler {
        StreamHandler(
            onActive: { peer in
                let (isCancelled, older) = self.state.withLock { state in
                    let older = state.connection
                    state.connection = channel
                    state.pendingBytes = 0
                    state.failure = nil
                    return (state.isCancelled, older)
                }
                older?.close(promise: nil)
                guard !isCancelled else { return channel.close(promise: nil) }
                yield(.connected(peer: peer.map(Self.text) ?? ""))
            },
            onBytes: { bytes in
                if self.state.withLock({ $0.connection === channel }) { yield(.received(bytes)) }
            },
            onEnd: { error in
                let (isCurrent, failure) = self.state.withLock { state in
                    guard state.connection === channel else { return (false, nil as SignallingError?) }
                    state.connection = nil
                    return (true, state.failure)
                }
                guard isCurrent else { return }
                let address = channel.remoteAddress.map(Self.text) ?? ""
                yield(.disconnected(failure ?? error.map { ConnectionFailure.error(for: $0, address: address) }))
            }
        )
    }

    private static func portFailure(_ error: any Error, _ address: String) -> SignallingError {
        let reason =
            switch (error as? IOError)?.errnoCode {
            case 98: "another program uses it: choose another port, or end that program"
            case 99: "this host has no such address: use one that it has, or 0.0.0.0 for all of them"
            case 13: "this user may not: choose a port above 1023"
            default: ConnectionFailure.words(error)
            }
        return SignallingError(
            .unreachable,
            "The port \(address) cannot be opened for the peer: \(reason).",
            blame: .configuration
        )
    }

    private static func text(_ address: SocketAddress) -> String {
        let host = address.ipAddress ?? ""
        return "\(IPAddress.bracketed(host)):\(address.port ?? 0)"
    }
}
