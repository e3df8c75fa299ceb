// SPDX-License-Identifier: Apache-2.0

import Basics
import Glibc
public import Logging
import NIOCore
import NIOHTTP1
import NIOPosix

/// The embedded room server: Socket.IO rooms and a browser page on one port.
///
/// It speaks Engine.IO 3 and 4, by polling, WebSocket and the move from one to the other, with the room rules of the
/// tutorials' server. It differs from that server where its rules end other people's calls or leave dead
/// members behind: only members may send and leave, and a socket that vanishes yields `bye` for its rooms. In rooms of more
/// than two every member that is already there offers to the newcomer, and messages name their receiver in `to`; the
/// server writes the sender's id into `from`.
///
/// Pages of every origin may use it (the request's `Origin` is echoed), and it knows no users: listen on loopback or on a
/// network whose people you trust. For demos, tests and small networks; everything runs on one thread.
public final class RoomServer: Sendable {
    /// Where a server listens.
    public struct Address: Sendable, Hashable, CustomStringConvertible {
        /// The numeric address.
        public let host: String
        /// The port, never 0.
        public let port: Int

        /// The page's URL.
        public var description: String {
            "http://\(IPAddress.bracketed(self.host)):\(self.port)/"
        }
    }

    private let configuration: RoomServerConfiguration
    private let logger: Logger

    /// A server that does not listen yet.
    public init(configuration: RoomServerConfiguration, logger: Logger) {
        self.configuration = configuration
        self.logger = logger
    }

    /// Listens and serves until the calling task is cancelled, then closes every connection and returns.
    ///
    /// - Parameter onListening: Called once, when clients can connect.
    /// - Throws: `RoomServerError`.
    public func run(onListening: @Sendable (Address) async -> Void = { _ in }) async throws {
        try self.configuration.validate()
        let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
        let result: Result<Void, any Error>
        do {
            try await self.serve(on: group.next(), onListening: onListening)
            result = .success(())
        } catch {
            result = .failure(error)
        }
        try await group.shutdownGracefully()
        try result.get()
    }

    private func serve(on loop: any EventLoop, onListening: @Sendable (Address) async -> Void) async throws {
        let configuration = self.configuration
        let logger = self.logger
        let hub = try await loop.submit {
            NIOLoopBound(RoomServerHub(configuration: configuration, eventLoop: loop, logger: logger), eventLoop: loop)
        }.get()
        let channel = try await self.listen(on: loop, hub: hub)
        await withTaskCancellationHandler {
            if let address = channel.localAddress, let host = address.ipAddress, let port = address.port {
                await onListening(Address(host: host, port: port))
            }
            try? await channel.closeFuture.get()
        } onCancel: {
            channel.close(promise: nil)
        }
        try await loop.flatSubmit { EventLoopFuture.andAllComplete(hub.value.stop(), on: loop) }.get()
    }

    private func listen(on loop: any EventLoop, hub: NIOLoopBound<RoomServerHub>) async throws -> any Channel {
        let limit = self.configuration.maximumUnsentBytes
        let bootstrap = ServerBootstrap(group: loop)
            .serverChannelOption(.backlog, value: 128)
            .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
            .childChannelOption(.tcpOption(.tcp_nodelay), value: 1)
            .childChannelOption(.writeBufferWaterMark, value: .init(low: limit / 2, high: limit))
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture { try Self.configure(channel, hub: hub.value) }
            }
        do {
            return try await bootstrap.bind(host: self.configuration.host, port: self.configuration.port).get()
        } catch {
            throw self.listeningError(error)
        }
    }

    private static func configure(_ channel: any Channel, hub: RoomServerHub) throws {
        guard hub.channelOpened(channel) else { throw ChannelError.operationUnsupported }
        let bound = NIOLoopBound(hub, eventLoop: channel.eventLoop)
        channel.closeFuture.whenComplete { _ in bound.value.channelClosed(channel) }
        let decoder = ByteToMessageHandler(HTTPRequestDecoder(leftOverBytesStrategy: .dropBytes))
        let encoder = HTTPResponseEncoder()
        let validator = NIOHTTPResponseHeadersValidator()
        let errors = HTTPServerProtocolErrorHandler()
        let pipeline = channel.pipeline.syncOperations
        try pipeline.addHandlers([encoder, decoder, validator, errors])
        try pipeline.addHandler(HTTPRequestHandler(hub: hub, httpHandlers: [decoder, errors, validator, encoder]))
    }

    private func listeningError(_ error: any Error) -> RoomServerError {
        let place = "\(self.configuration.host):\(self.configuration.port)"
        switch (error as? IOError)?.errnoCode {
        case EADDRINUSE:
            return RoomServerError(.addressInUse, "\(place) is in use; choose another port, or 0 for any.")
        case EACCES, EPERM:
            return RoomServerError(.notPermitted, "Not permitted to listen on \(place); choose a port above 1023.")
        case EADDRNOTAVAIL:
            return RoomServerError(.addressNotAvailable, "\(place) is not an address of this machine.")
        default:
            let reason =
                (error as? IOError).map { String(cString: strerror($0.errnoCode)) } ?? "no such host name is known"
            return RoomServerError(.listenFailed, "Cannot listen on \(place): \(reason).")
        }
    }
}
