// SPDX-License-Identifier: Apache-2.0

internal import Basics
internal import NIOCore
internal import NIOHTTP1
internal import NIOPosix
internal import NIOSSL
internal import NIOWebSocket
internal import Signalling
internal import Synchronization

/// One WebSocket of a client (RFC 6455).
///
/// `run` opens it and returns when it is closed; until then, the other methods are called from any thread.
///
/// Reading stops after each batch of messages until `read()`, so a server cannot fill our memory.
final class WebSocketConnection: Sendable {
    /// Where to connect.
    struct Request: Sendable {
        /// The server's name or address.
        var host: String
        /// The server's port.
        var port: Int
        /// Path and query.
        var target: String
        /// Headers in addition to those of the handshake.
        var headers: [HTTPField] = []
        /// The sub-protocol to ask for; nil asks for none.
        var subprotocol: String?
        /// nil speaks plain TCP.
        var tls: NIOSSLContext?
        /// Limit for the TCP connection.
        var connectTimeout: Duration
        /// The server, for messages.
        var address: String
        /// Largest message taken, in bytes.
        var maximumMessageBytes: Int
        /// Time between two pings.
        var pingInterval = WebSocketKeepAlive.interval
    }

    /// An event, in order; `closed` is the last.
    enum Event: Sendable {
        /// The handshake is done.
        case opened(cookies: [String])
        /// Messages came; `read()` asks for more.
        case received([WebSocketMessage])
        /// The server answered the handshake with another status.
        case refused(status: Int, body: [UInt8])
        /// The received data are beyond the limits or no WebSocket; `closed` follows.
        case violation(Violation)
        /// It is closed, after a close frame (nil) or by a failure.
        case closed(SignallingError?)
    }

    /// Why what came is not taken.
    enum Violation: Sendable {
        /// A message is larger than the limit, or in too many fragments.
        case oversize
        /// A text message is not UTF-8 (RFC 6455 section 8.1).
        case invalidUTF8
        /// The frames are no WebSocket frames.
        case malformed

        /// The sentence for a person.
        func error(address: String, limit: Int) -> SignallingError {
            let what =
                switch self {
                case .oversize: "more than \(limit) bytes in one message"
                case .invalidUTF8: "a text message that is not UTF-8"
                case .malformed: "something that is not a WebSocket frame"
                }
            return SignallingError(.protocolViolation, "The server at \(address) sent \(what).", blame: .peer)
        }
    }

    /// Most bytes that wait to be sent before the connection is dropped.
    static let maximumPendingBytes = 4_000_000

    private struct State {
        var channels: [any Channel] = []
        var open: (any Channel)?
        var isCancelled = false
        var pendingBytes = 0
        var failure: SignallingError?
    }

    /// Largest message taken, in bytes.
    var maximumMessageBytes: Int { self.request.maximumMessageBytes }
    private let request: Request
    private let state = Mutex(State())

    init(_ request: Request) {
        self.request = request
    }

    /// Connects and waits until the connection is closed.
    ///
    /// Cancelling the task closes it at once.
    ///
    /// - Parameter yield: Called on the connection's event loop and, for `closed`, on the caller's executor.
    func run(yield: @escaping @Sendable (Event) -> Void) async {
        let failure: SignallingError? = await withTaskCancellationHandler {
            do {
                let channel = try await self.bootstrap(yield: yield)
                    .connect(host: self.request.host, port: self.request.port).get()
                try await channel.closeFuture.get()
                return self.state.withLock { $0.failure }
            } catch {
                return self.state.withLock { $0.failure }
                    ?? ConnectionFailure.error(for: error, address: self.request.address)
            }
        } onCancel: {
            self.cancel()
        }
        yield(.closed(failure))
    }

    /// Sends a message.
    ///
    /// Lost if the connection is not open.
    func send(_ frame: WebSocketMessage) {
        guard let channel = self.state.withLock({ $0.open }) else { return }
        var data: ByteBuffer
        let opcode: WebSocketOpcode
        switch frame {
        case .text(let text):
            data = ByteBuffer(string: text)
            opcode = .text
        case .binary(let bytes):
            data = ByteBuffer(bytes: bytes)
            opcode = .binary
        }
        let size = data.readableBytes
        let isOver = self.state.withLock { state in
            state.pendingBytes += size
            return state.pendingBytes > Self.maximumPendingBytes
        }
        if isOver {
            self.fail(
                SignallingError(
                    .overloaded,
                    "The server at \(self.request.address) does not take what we send.",
                    blame: .peer
                )
            )
            return
        }
        let message = WebSocketFrame(fin: true, opcode: opcode, maskKey: .random(), data: data)
        let promise = channel.eventLoop.makePromise(of: Void.self)
        promise.futureResult.whenComplete { _ in
            self.state.withLock { $0.pendingBytes -= size }
        }
        channel.writeAndFlush(message, promise: promise)
    }

    /// Asks for the next batch of messages.
    func read() {
        self.state.withLock { $0.open }?.read()
    }

    /// Sends a close frame; the server answers by closing.
    func close() {
        guard let channel = self.state.withLock({ $0.open }) else {
            self.cancel()
            return
        }
        var data = ByteBuffer()
        data.write(webSocketErrorCode: .normalClosure)
        let frame = WebSocketFrame(fin: true, opcode: .connectionClose, maskKey: .random(), data: data)
        channel.writeAndFlush(frame, promise: nil)
        // The server's close frame may be behind messages that no one requests any more.
        channel.setOption(.autoRead, value: true).whenFailure { _ in channel.close(promise: nil) }
    }

    /// Closes at once.
    func cancel() {
        let channels = self.state.withLock { state in
            state.isCancelled = true
            return state.channels
        }
        for channel in channels { channel.close(promise: nil) }
    }

    /// Remembers the first failure and closes at once.
    func fail(_ error: SignallingError) {
        self.state.withLock { $0.failure = $0.failure ?? error }
        self.cancel()
    }

    private func bootstrap(yield: @escaping @Sendable (Event) -> Void) -> ClientBootstrap {
        ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .connectTimeout(TimeAmount(self.request.connectTimeout))
            .channelInitializer { channel in
                let isCancelled = self.state.withLock { state in
                    state.channels.append(channel)
                    return state.isCancelled
                }
                guard !isCancelled else { return channel.eventLoop.makeFailedFuture(ChannelError.ioOnClosedChannel) }
                return channel.eventLoop.makeCompletedFuture {
                    try self.addHandlers(to: channel, yield: yield)
                }
            }
    }

    private func addHandlers(to channel: any Channel, yield: @escaping @Sendable (Event) -> Void) throws {
        if let tls = self.request.tls {
            let handler = try NIOSSLClientHandler(context: tls, serverHostname: self.serverName)
            try channel.pipeline.syncOperations.addHandler(handler)
        }
        let handshake = WebSocketHandshakeHandler(request: self.request, connection: self, yield: yield)
        let upgrader = NIOWebSocketClientUpgrader(
            maxFrameSize: self.request.maximumMessageBytes,
            automaticErrorHandling: false
        ) { channel, head in
            channel.eventLoop.makeCompletedFuture {
                try self.upgraded(channel, cookies: head.headers["Set-Cookie"], yield: yield)
            }
        }
        try channel.pipeline.syncOperations.addHTTPClientHandlers(
            leftOverBytesStrategy: .forwardBytes,
            withClientUpgrade: (
                upgraders: [upgrader],
                completionHandler: { context in
                    context.pipeline.syncOperations.removeHandler(handshake, promise: nil)
                }
            )
        )
        try channel.pipeline.syncOperations.addHandler(handshake)
    }

    private func upgraded(
        _ channel: any Channel,
        cookies: [String],
        yield: @escaping @Sendable (Event) -> Void
    ) throws {
        let aggregator = NIOWebSocketFrameAggregator(
            minNonFinalFragmentSize: 0,
            maxAccumulatedFrameCount: 1024,
            maxAccumulatedFrameSize: self.request.maximumMessageBytes
        )
        try channel.pipeline.syncOperations.addHandlers([
            WebSocketKeepAlive(
                connection: self,
                address: self.request.address,
                interval: self.request.pingInterval
            ),
            aggregator,
            WebSocketFrameHandler(connection: self, address: self.request.address, yield: yield),
        ])
        try channel.syncOptions?.setOption(.autoRead, value: false)
        self.state.withLock { $0.open = channel }
        yield(.opened(cookies: cookies))
        channel.read()
    }

    /// The name for SNI; addresses have none (RFC 6066 section 3).
    private var serverName: String? {
        IPAddress(self.request.host) == nil ? self.request.host : nil
    }
}
