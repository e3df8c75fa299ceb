// SPDX-License-Identifier: Apache-2.0

internal import NIOCore
internal import NIOHTTP1
internal import Signalling

/// Sends the upgrade request and, if the server does not upgrade, collects why.
///
/// Removed from the pipeline when the upgrade is done.
final class WebSocketHandshakeHandler: ChannelInboundHandler, RemovableChannelHandler, @unchecked Sendable {
    typealias InboundIn = HTTPClientResponsePart
    typealias OutboundOut = HTTPClientRequestPart

    /// Most of an error body that is kept, in bytes.
    private static let maximumBodyBytes = 4096

    // @unchecked: the mutable state is used on the channel's event loop only.
    private let request: WebSocketConnection.Request
    private let connection: WebSocketConnection
    private let yield: @Sendable (WebSocketConnection.Event) -> Void
    private var status: Int?
    private var body: [UInt8] = []

    init(
        request: WebSocketConnection.Request,
        connection: WebSocketConnection,
        yield: @escaping @Sendable (WebSocketConnection.Event) -> Void
    ) {
        self.request = request
        self.connection = connection
        self.yield = yield
    }

    func channelActive(context: ChannelHandlerContext) {
        var headers = HTTPHeaders()
        headers.add(name: "Host", value: self.request.address)
        headers.add(name: "User-Agent", value: "tapedeck")
        if let name = self.request.subprotocol { headers.add(name: "Sec-WebSocket-Protocol", value: name) }
        for field in self.request.headers { headers.add(name: field.name, value: field.value) }
        let head = HTTPRequestHead(version: .http1_1, method: .GET, uri: self.request.target, headers: headers)
        context.write(self.wrapOutboundOut(.head(head)), promise: nil)
        context.writeAndFlush(self.wrapOutboundOut(.end(nil)), promise: nil)
        context.fireChannelActive()
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        switch self.unwrapInboundIn(data) {
        case .head(let head):
            self.status = Int(head.status.code)
        case .body(let buffer):
            self.body += buffer.readableBytesView.prefix(Self.maximumBodyBytes - self.body.count)
        case .end:
            self.finish(context)
        }
    }

    func channelInactive(context: ChannelHandlerContext) {
        if self.status != nil {
            self.finish(context)
        } else {
            self.connection.fail(
                SignallingError(
                    .unreachable,
                    "The server at \(self.request.address) closed the connection in the WebSocket handshake: check the "
                        + "port, and whether it wants TLS.",
                    blame: .peer
                )
            )
        }
        context.fireChannelInactive()
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        self.connection.fail(ConnectionFailure.error(for: error, address: self.request.address))
    }

    private func finish(_ context: ChannelHandlerContext) {
        guard let status = self.status else { return }
        self.status = nil
        self.yield(.refused(status: status, body: self.body))
        context.close(promise: nil)
    }
}
