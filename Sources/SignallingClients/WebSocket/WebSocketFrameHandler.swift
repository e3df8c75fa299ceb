// SPDX-License-Identifier: Apache-2.0

internal import NIOCore
internal import NIOWebSocket
internal import Signalling

/// Collects the messages of one read and hands them over as a batch; answers pings and close frames.
final class WebSocketFrameHandler: ChannelInboundHandler {
    typealias InboundIn = WebSocketFrame
    typealias OutboundOut = WebSocketFrame

    private let connection: WebSocketConnection
    private let address: String
    private let yield: @Sendable (WebSocketConnection.Event) -> Void
    private var batch: [WebSocketMessage] = []
    private var isOver = false

    init(
        connection: WebSocketConnection,
        address: String,
        yield: @escaping @Sendable (WebSocketConnection.Event) -> Void
    ) {
        self.connection = connection
        self.address = address
        self.yield = yield
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard !self.isOver else { return }
        let frame = self.unwrapInboundIn(data)
        switch frame.opcode {
        case .text:
            guard let text = String(validating: frame.unmaskedData.readableBytesView, as: UTF8.self) else {
                self.violate(.invalidUTF8, context)
                return
            }
            self.batch.append(.text(text))
        case .binary:
            self.batch.append(.binary([UInt8](frame.unmaskedData.readableBytesView)))
        case .ping:
            let pong = WebSocketFrame(fin: true, opcode: .pong, maskKey: .random(), data: frame.unmaskedData)
            context.writeAndFlush(self.wrapOutboundOut(pong), promise: nil)
        case .connectionClose:
            self.flush()
            self.isOver = true
            let answer = WebSocketFrame(
                fin: true,
                opcode: .connectionClose,
                maskKey: .random(),
                data: ByteBuffer(frame.unmaskedData.readableBytesView.prefix(2))
            )
            context.writeAndFlush(self.wrapOutboundOut(answer), promise: nil)
            context.close(promise: nil)
        default:
            break
        }
    }

    func channelReadComplete(context: ChannelHandlerContext) {
        if self.batch.isEmpty {
            // Half a message, or a ping: no one will request the rest.
            context.read()
        } else {
            self.flush()
        }
        context.fireChannelReadComplete()
    }

    func channelInactive(context: ChannelHandlerContext) {
        self.flush()
        if !self.isOver {
            self.connection.fail(
                SignallingError(
                    .unreachable,
                    "The connection to the server at \(self.address) broke.",
                    blame: .network
                )
            )
        }
        context.fireChannelInactive()
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        switch error {
        case NIOWebSocketError.invalidFrameLength, NIOWebSocketFrameAggregator.Error.accumulatedFrameSizeIsTooLarge,
            NIOWebSocketFrameAggregator.Error.tooManyFragments:
            self.violate(.oversize, context)
        case is NIOWebSocketError, is NIOWebSocketFrameAggregator.Error:
            self.violate(.malformed, context)
        default:
            self.connection.fail(ConnectionFailure.error(for: error, address: self.address))
        }
    }

    private func flush() {
        guard !self.batch.isEmpty else { return }
        self.yield(.received(self.batch))
        self.batch = []
    }

    private func violate(_ violation: WebSocketConnection.Violation, _ context: ChannelHandlerContext) {
        guard !self.isOver else { return }
        self.flush()
        self.isOver = true
        self.yield(.violation(violation))
        context.close(promise: nil)
    }
}
