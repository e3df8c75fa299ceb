// SPDX-License-Identifier: Apache-2.0

import NIOCore
import NIOHTTP1
import NIOPosix
import NIOSSL
import NIOWebSocket
import Synchronization

/// A server on loopback that answers as configured, down to the byte.
final class HostileServer: Sendable {
    /// The reply to a request.
    enum Reply: Sendable {
        /// A whole response with a body.
        case http(status: Int, body: String, headers: [String] = [])
        /// Raw bytes, then the end of the connection.
        case raw(String)
        /// Nothing, for ever.
        case silence
        /// The end of the connection.
        case close
    }

    let port: Int
    private let channel: any Channel

    /// - Parameter reply: Called with each request's head and body, in order of arrival on all connections.
    static func start(
        tls: NIOSSLContext? = nil,
        reply: @escaping @Sendable (String) -> Reply
    ) async throws -> HostileServer {
        let channel = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    if let tls { try channel.pipeline.syncOperations.addHandler(NIOSSLServerHandler(context: tls)) }
                    try channel.pipeline.syncOperations.addHandler(RequestHandler(reply: reply))
                }
            }
            .bind(host: "127.0.0.1", port: 0).get()
        return try HostileServer(channel)
    }

    /// A server that upgrades every request to a WebSocket and sends these frames.
    static func startWebSocket(frames: [WebSocketFrame]) async throws -> HostileServer {
        try await self.startWebSocket { _ in frames }
    }

    /// A server that upgrades every request to a WebSocket and sends the frames that its target asks for.
    static func startWebSocket(
        frames: @escaping @Sendable (String) -> [WebSocketFrame]
    ) async throws -> HostileServer {
        let channel = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .childChannelInitializer { channel in
                let upgrader = NIOWebSocketServerUpgrader(
                    shouldUpgrade: { channel, _ in channel.eventLoop.makeSucceededFuture(HTTPHeaders()) },
                    upgradePipelineHandler: { channel, head in
                        for frame in frames(head.uri) { channel.write(frame, promise: nil) }
                        channel.flush()
                        return channel.eventLoop.makeSucceededVoidFuture()
                    }
                )
                return channel.pipeline.configureHTTPServerPipeline(
                    withServerUpgrade: (upgraders: [upgrader], completionHandler: { _ in })
                )
            }
            .bind(host: "127.0.0.1", port: 0).get()
        return try HostileServer(channel)
    }

    private init(_ channel: any Channel) throws {
        struct NoPort: Error {}
        guard let port = channel.localAddress?.port else { throw NoPort() }
        self.port = port
        self.channel = channel
    }

    func stop() async throws {
        try await self.channel.close()
    }
}

private final class RequestHandler: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    private let reply: @Sendable (String) -> HostileServer.Reply
    private var received = ""

    init(reply: @escaping @Sendable (String) -> HostileServer.Reply) {
        self.reply = reply
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        self.received += String(buffer: self.unwrapInboundIn(data))
        guard let end = self.received.firstRange(of: "\r\n\r\n") else { return }
        let head = self.received[..<end.lowerBound]
        let length =
            head.split(separator: "\r\n").first { $0.lowercased().hasPrefix("content-length:") }
            .flatMap { Int($0.split(separator: " ").last ?? "") } ?? 0
        guard self.received[end.upperBound...].utf8.count >= length else { return }
        let request = self.received
        self.received = ""
        switch self.reply(request) {
        case .http(let status, let body, let headers):
            let lines = ["HTTP/1.1 \(status) X", "Content-Length: \(body.utf8.count)"] + headers
            self.write(lines.joined(separator: "\r\n") + "\r\n\r\n" + body, context)
        case .raw(let bytes):
            self.write(bytes, context)
            context.close(promise: nil)
        case .silence: break
        case .close: context.close(promise: nil)
        }
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        context.close(promise: nil)
    }

    private func write(_ text: String, _ context: ChannelHandlerContext) {
        context.writeAndFlush(self.wrapOutboundOut(ByteBuffer(string: text)), promise: nil)
    }
}
