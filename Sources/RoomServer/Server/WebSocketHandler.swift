// SPDX-License-Identifier: Apache-2.0

import NIOCore
import NIOWebSocket
import Signalling

/// The owner of a WebSocket.
protocol WebSocketOwner: AnyObject {
    /// A message came.
    func frameReceived(_ frame: WebSocketMessage, on handler: WebSocketHandler)
    /// The client answered a ping.
    func pongReceived()
    /// The WebSocket closed, or what follows on it cannot be read.
    func webSocketClosed(_ handler: WebSocketHandler)
}

/// One WebSocket connection: takes whole messages, answers control frames, closes on anything that RFC 6455 forbids.
///
/// Behind `ClientFrameCheck` and the aggregator of fragments, which `handlers` puts before it. Used only on the server's
/// event loop.
final class WebSocketHandler: ChannelInboundHandler {
    typealias InboundIn = WebSocketFrame
    typealias OutboundOut = WebSocketFrame

    /// Most fragments of one message; no client in use makes any.
    private static let maximumFragments = 1024
    /// How long the other end may take to answer our close frame.
    private static let closeTimeout = Duration.seconds(2)

    private let hub: RoomServerHub
    /// Makes the owner once the connection is a WebSocket; none closes it.
    private let open: (RoomServerHub, WebSocketHandler) -> (any WebSocketOwner)?
    private var owner: (any WebSocketOwner)?
    private var context: ChannelHandlerContext?
    private var closeTimer: Scheduled<Void>?

    /// A connection that is about to become a WebSocket.
    init(hub: RoomServerHub, open: @escaping (RoomServerHub, WebSocketHandler) -> (any WebSocketOwner)?) {
        self.hub = hub
        self.open = open
    }

    /// The handlers of a connection's frames, in order: this handler is the last.
    var handlers: [any ChannelHandler] {
        let aggregator = NIOWebSocketFrameAggregator(
            minNonFinalFragmentSize: 0,
            maxAccumulatedFrameCount: Self.maximumFragments,
            maxAccumulatedFrameSize: RoomServerConfiguration.maximumMessageBytes
        )
        return [ClientFrameCheck(), aggregator, self]
    }

    /// Whether the client has fetched enough of what was sent.
    var isWritable: Bool { self.context?.channel.isWritable ?? false }

    /// Sends one message.
    ///
    /// Without effect once the connection closes.
    func send(_ frame: WebSocketMessage) {
        guard let context = self.context, self.closeTimer == nil else { return }
        switch frame {
        case .text(let text):
            let data = context.channel.allocator.buffer(string: text)
            self.write(WebSocketFrame(fin: true, opcode: .text, data: data), context: context)
        case .binary(let bytes):
            let data = context.channel.allocator.buffer(bytes: bytes)
            self.write(WebSocketFrame(fin: true, opcode: .binary, data: data), context: context)
        }
    }

    /// Asks the client for a sign of life.
    func ping() {
        guard let context = self.context, self.closeTimer == nil, self.isWritable else { return }
        self.write(WebSocketFrame(fin: true, opcode: .ping, data: ByteBuffer()), context: context)
    }

    /// Sends a close frame and waits a moment for the other end's.
    func close(_ code: WebSocketErrorCode) {
        guard let context = self.context, self.closeTimer == nil else { return }
        var data = context.channel.allocator.buffer(capacity: 2)
        data.write(webSocketErrorCode: code)
        self.write(WebSocketFrame(fin: true, opcode: .connectionClose, data: data), context: context)
        let channel = context.channel
        self.closeTimer = self.hub.schedule(after: Self.closeTimeout) { channel.close(promise: nil) }
    }

    func handlerAdded(context: ChannelHandlerContext) {
        self.context = context
        self.owner = self.open(self.hub, self)
        if self.owner == nil { self.close(.goingAway) }
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        self.context = nil
        self.closeTimer?.cancel()
        self.closeTimer = nil
    }

    func channelInactive(context: ChannelHandlerContext) {
        self.owner?.webSocketClosed(self)
        self.owner = nil
        context.fireChannelInactive()
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let frame = self.unwrapInboundIn(data)
        if self.closeTimer != nil {
            if frame.opcode == .connectionClose { context.close(promise: nil) }
            return
        }
        switch frame.opcode {
        case .binary:
            self.owner?.frameReceived(.binary([UInt8](frame.unmaskedData.readableBytesView)), on: self)
        case .text:
            guard let text = String(validating: frame.unmaskedData.readableBytesView, as: UTF8.self) else {
                return self.fail(.dataInconsistentWithMessage)
            }
            self.owner?.frameReceived(.text(text), on: self)
        case .ping:
            let pong = WebSocketFrame(fin: true, opcode: .pong, data: frame.unmaskedData)
            if self.isWritable { self.write(pong, context: context) }
        case .pong: self.owner?.pongReceived()
        case .connectionClose:
            let code = Self.answer(toClose: frame.unmaskedData.readableBytesView)
            let answer = WebSocketFrame(fin: true, opcode: .connectionClose, data: ByteBuffer(bytes: code))
            self.write(answer, context: context)
            context.close(promise: nil)
        default: self.fail(.protocolError)
        }
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        switch error {
        case NIOWebSocketError.invalidFrameLength, NIOWebSocketFrameAggregator.Error.accumulatedFrameSizeIsTooLarge,
            NIOWebSocketFrameAggregator.Error.tooManyFragments:
            self.fail(.messageTooLarge)
        case is NIOWebSocketError, is NIOWebSocketFrameAggregator.Error, is ClientFrameCheck.Violation:
            self.fail(.protocolError)
        default: context.close(promise: nil)
        }
    }

    /// The body that answers that of a close frame: its own code (RFC 6455 section 5.5.1), or the code of the mistake in it.
    private static func answer(toClose body: ByteBufferView) -> [UInt8] {
        guard !body.isEmpty else { return [] }
        let code = body.count == 1 ? 0 : body.prefix(2).reduce(0) { $0 << 8 | UInt16($1) }
        let isText = String(validating: body.dropFirst(2), as: UTF8.self) != nil
        let answer: UInt16 = !Self.isSent(code) ? 1002 : isText ? code : 1007
        return [UInt8(answer >> 8), UInt8(answer & 0xFF)]
    }

    /// Whether an endpoint may send a close code (RFC 6455 section 7.4 and IANA's registry): 1004 is reserved, and
    /// 1005, 1006 and 1015 are never in a frame.
    private static func isSent(_ code: UInt16) -> Bool {
        switch code {
        case 1000...1003, 1007...1014, 3000...4999: true
        default: false
        }
    }

    /// Ends the session with the connection: nothing that follows can be read.
    private func fail(_ code: WebSocketErrorCode) {
        self.close(code)
        self.owner?.webSocketClosed(self)
        self.owner = nil
    }

    private func write(_ frame: WebSocketFrame, context: ChannelHandlerContext) {
        context.writeAndFlush(self.wrapOutboundOut(frame), promise: nil)
    }
}
