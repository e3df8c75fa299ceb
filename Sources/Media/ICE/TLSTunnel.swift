// SPDX-License-Identifier: Apache-2.0

internal import Basics
internal import Logging
internal import NIOCore
internal import NIOPosix
internal import NIOSSL
internal import Observability
internal import Platform
internal import Signalling
internal import Synchronization

/// A port on loopback whose connections are forwarded to a TURN server over TLS: libnice speaks TURN over TCP, but no
/// TLS.
///
/// Whatever the agent sends is encrypted for the server, whose certificate is checked against the system's authorities
/// and its name. One for each server and session; the agent of each peer connection makes separate connections.
final class TLSTunnel: Sendable {
    /// Connections of all peer connections of a session; each takes one for each address of this host.
    private static let maximumConnections = 256

    /// The near ends, `127.0.0.1` and `::1` where the host has it.
    let endpoints: [(address: String, port: Int)]

    private let listeners: [any Channel]
    private let state: State

    private final class State: Sendable {
        let connections = Mutex(0)
        let hasFailed = Mutex(false)
    }

    private init(listeners: [any Channel], state: State) {
        self.listeners = listeners
        self.state = state
        self.endpoints = listeners.compactMap { channel in
            guard let address = channel.localAddress, let host = address.ipAddress, let port = address.port else {
                return nil
            }
            return (host, port)
        }
    }

    /// Starts to listen.
    ///
    /// - Parameters:
    ///   - tls: whom to trust.
    ///   - resolver: what finds the server's addresses; the system if left out.
    /// - Throws: if neither loopback address can be listened on, or the system's authorities cannot be read.
    static func open(
        to server: ICEServerURL,
        logger: Logger,
        tls: TLSConfiguration = .makeClientConfiguration(),
        resolver: (any Resolver & Sendable)? = nil
    ) async throws -> TLSTunnel {
        let context = try NIOSSLContext(configuration: tls)
        let state = State()
        let bootstrap = ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .serverChannelOption(.backlog, value: 16)
            .childChannelOption(.autoRead, value: false)
            .childChannelInitializer { near in
                Self.connect(near, to: server, resolver, context, state, logger)
            }
        var listeners = [try await bootstrap.bind(host: "127.0.0.1", port: 0).get()]
        if let six = try? await bootstrap.bind(host: "::1", port: 0).get() { listeners.append(six) }
        return TLSTunnel(listeners: listeners, state: state)
    }

    /// Stops to listen; connections end with the agents that made them.
    func close() async {
        for listener in self.listeners { try? await listener.close() }
    }

    private static func connect(
        _ near: any Channel,
        to server: ICEServerURL,
        _ resolver: (any Resolver & Sendable)?,
        _ context: NIOSSLContext,
        _ state: State,
        _ logger: Logger
    ) -> EventLoopFuture<Void> {
        let isFull = state.connections.withLock { count in
            guard count < Self.maximumConnections else { return true }
            count += 1
            return false
        }
        guard !isFull else { return near.eventLoop.makeFailedFuture(ChannelError.outputClosed) }
        near.closeFuture.whenComplete { _ in state.connections.withLock { $0 -= 1 } }
        let isAddress = IPAddress(server.host) != nil
        let connected = ClientBootstrap(group: near.eventLoop)
            .resolver(resolver)
            .connectTimeout(.seconds(5))
            .channelOption(.autoRead, value: false)
            .channelInitializer { far in
                far.eventLoop.makeCompletedFuture {
                    let tls = try NIOSSLClientHandler(
                        context: context,
                        serverHostname: isAddress ? nil : server.host
                    )
                    try far.pipeline.syncOperations.addHandlers(
                        tls,
                        TunnelEnd(partner: near) { Self.report($0, server, state, logger) }
                    )
                }
            }
            .connect(host: server.host, port: server.port)
        connected.whenComplete { result in
            switch result {
            case .success(let far):
                do {
                    // Not before: each of the server's addresses is tried with a separate channel.
                    try near.pipeline.syncOperations.addHandler(TunnelEnd(partner: far))
                } catch {
                    // The agent has hung up in between.
                    return far.close(promise: nil)
                }
                far.setOption(.autoRead, value: true).whenFailure { _ in near.close(promise: nil) }
                near.setOption(.autoRead, value: true).whenFailure { _ in far.close(promise: nil) }
            case .failure(let error):
                Self.report(error, server, state, logger)
                near.close(promise: nil)
            }
        }
        return near.eventLoop.makeSucceededVoidFuture()
    }

    /// Once for each tunnel: an agent tries again for every peer.
    private static func report(_ error: any Error, _ server: ICEServerURL, _ state: State, _ logger: Logger) {
        let isFirst = state.hasFailed.withLock { hasFailed in
            defer { hasFailed = true }
            return !hasFailed
        }
        guard isFirst else { return }
        logger.warning(
            "a TURN server cannot be reached over TLS",
            metadata: .tagged([.serverAddress: "\(server)", .errorMessage: "\(NetworkErrorText.words(error))"])
        )
    }
}

/// One end of a tunnel: passes bytes on to the other, as fast as that takes them.
///
/// Both channels are on one event loop.
private final class TunnelEnd: ChannelDuplexHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    private let partner: any Channel
    private let onError: @Sendable (any Error) -> Void

    init(partner: any Channel, onError: @escaping @Sendable (any Error) -> Void = { _ in }) {
        self.partner = partner
        self.onError = onError
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        self.partner.writeAndFlush(Self.unwrapInboundIn(data), promise: nil)
        if !self.partner.isWritable { _ = context.channel.setOption(.autoRead, value: false) }
    }

    func channelWritabilityChanged(context: ChannelHandlerContext) {
        if context.channel.isWritable { _ = self.partner.setOption(.autoRead, value: true) }
        context.fireChannelWritabilityChanged()
    }

    func channelInactive(context: ChannelHandlerContext) {
        self.partner.close(promise: nil)
        context.fireChannelInactive()
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        self.onError(error)
        context.close(promise: nil)
    }
}
