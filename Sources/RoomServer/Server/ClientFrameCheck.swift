// SPDX-License-Identifier: Apache-2.0

import NIOCore
import NIOWebSocket

/// Passes on the frames that a client may send; handlers after it could not detect the others, because an assembled
/// message has neither mask nor reserved bits.
final class ClientFrameCheck: ChannelInboundHandler {
    typealias InboundIn = WebSocketFrame
    typealias InboundOut = WebSocketFrame

    /// A frame without a mask (RFC 6455 section 5.1), or with a bit of an extension that was not negotiated (section 5.2).
    struct Violation: Error {}

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let frame = self.unwrapInboundIn(data)
        guard frame.maskKey != nil, !frame.rsv1, !frame.rsv2, !frame.rsv3 else {
            return context.fireErrorCaught(Violation())
        }
        context.fireChannelRead(data)
    }
}
