// SPDX-License-Identifier: Apache-2.0

internal import NIOCore
internal import NIOWebSocket
internal import Signalling

/// Sends a ping now and then, and drops the connection when nothing at all comes back (RFC 6455 section 5.5.2).
///
/// Without it a network that fails silently would go unnoticed: Engine.IO is the only protocol in use with a heartbeat.
/// Time in which the owner does not read does not count.
final class WebSocketKeepAlive: ChannelDuplexHandler, @unchecked Sendable {
    typealias InboundIn = WebSocketFrame
    typealias InboundOut = WebSocketFrame
    typealias OutboundIn = WebSocketFrame
    typealias OutboundOut = WebSocketFrame

    /// Time between two pings.
    static let interval = Duration.seconds(20)
    /// Pings without any frame after them before the connection counts as dead.
    static let maximumMissed = 2

    // @unchecked: the mutable state is used on the channel's event loop only.
    private let connection: WebSocketConnection
    private let address: String
    private let interval: TimeAmount
    private var task: RepeatedTask?
    private var missed = 0
    private var isReading = false

    init(connection: WebSocketConnection, address: String, interval: Duration) {
        self.connection = connection
        self.address = address
        self.interval = TimeAmount(interval)
    }

    func handlerAdded(context: ChannelHandlerContext) {
        let bound = NIOLoopBound((self, context), eventLoop: context.eventLoop)
        self.task = context.eventLoop.scheduleRepeatedTask(initialDelay: self.interval, delay: self.interval) { _ in
            let (handler, context) = bound.value
            handler.ping(context)
        }
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        self.task?.cancel()
        self.task = nil
    }

    func read(context: ChannelHandlerContext) {
        self.isReading = true
        context.read()
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        self.missed = 0
        context.fireChannelRead(data)
    }

    func channelReadComplete(context: ChannelHandlerContext) {
        self.isReading = false
        context.fireChannelReadComplete()
    }

    private func ping(_ context: ChannelHandlerContext) {
        guard self.missed < Self.maximumMissed else {
            self.task?.cancel()
            self.connection.fail(
                SignallingError(.timedOut, "The server at \(self.address) does not answer any more.", blame: .network)
            )
            return
        }
        if self.isReading { self.missed += 1 }
        let frame = WebSocketFrame(fin: true, opcode: .ping, maskKey: .random(), data: ByteBuffer())
        context.writeAndFlush(self.wrapOutboundOut(frame), promise: nil)
    }
}
