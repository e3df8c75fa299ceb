// SPDX-License-Identifier: Apache-2.0

internal import NIOCore

/// Hands over what one TCP connection does.
///
/// Everything is called on the connection's event loop; `onEnd` is the last.
final class StreamHandler: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer

    private let onActive: @Sendable (SocketAddress?) -> Void
    private let onBytes: @Sendable ([UInt8]) -> Void
    private let onEnd: @Sendable ((any Error)?) -> Void
    private var hasBytes = false
    private var error: (any Error)?

    /// - Parameters:
    ///   - onActive: The connection is open; gets the peer's address.
    ///   - onBytes: Bytes came; nothing more comes until `read()` on the channel.
    ///   - onEnd: The connection is closed; gets the failure, if it was one.
    init(
        onActive: @escaping @Sendable (SocketAddress?) -> Void,
        onBytes: @escaping @Sendable ([UInt8]) -> Void,
        onEnd: @escaping @Sendable ((any Error)?) -> Void
    ) {
        self.onActive = onActive
        self.onBytes = onBytes
        self.onEnd = onEnd
    }

    func channelActive(context: ChannelHandlerContext) {
        self.onActive(context.remoteAddress)
        context.fireChannelActive()
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        self.hasBytes = true
        self.onBytes([UInt8](self.unwrapInboundIn(data).readableBytesView))
    }

    func channelReadComplete(context: ChannelHandlerContext) {
        // A read without bytes: otherwise nothing would request the next.
        if !self.hasBytes { context.read() }
        self.hasBytes = false
        context.fireChannelReadComplete()
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        self.error = self.error ?? error
        context.close(promise: nil)
    }

    func channelInactive(context: ChannelHandlerContext) {
        self.onEnd(self.error)
        context.fireChannelInactive()
    }
}
