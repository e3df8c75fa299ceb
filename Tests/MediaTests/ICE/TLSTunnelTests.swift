// SPDX-License-Identifier: Apache-2.0

import Logging
import NIOCore
import NIOPosix
import NIOSSL
import Signalling
import Testing

@testable import GStreamer
@testable import Media

/// The tunnel to a TURN server over TLS: here to one that sends everything back.
@Suite(.timeLimit(.minutes(2))) struct TLSTunnelTests {
    private static let loop = MultiThreadedEventLoopGroup.singleton.next()

    /// A name with an address of each kind, of which the first has no listener.
    private struct TwoAddresses: Resolver, Sendable {
        func initiateAQuery(host: String, port: Int) -> EventLoopFuture<[SocketAddress]> {
            Self.found("127.0.0.1", port)
        }

        func initiateAAAAQuery(host: String, port: Int) -> EventLoopFuture<[SocketAddress]> {
            Self.found("::1", port)
        }

        func cancelQueries() {}

        private static func found(_ address: String, _ port: Int) -> EventLoopFuture<[SocketAddress]> {
            TLSTunnelTests.loop.submit { try [SocketAddress(ipAddress: address, port: port)] }
        }
    }

    private final class Echo: ChannelInboundHandler {
        typealias InboundIn = ByteBuffer

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            context.writeAndFlush(data, promise: nil)
        }
    }

    private final class Heard: ChannelInboundHandler {
        typealias InboundIn = ByteBuffer

        let promise: EventLoopPromise<String>
        private var text = ""

        init(_ promise: EventLoopPromise<String>) {
            self.promise = promise
        }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            self.text += String(buffer: Self.unwrapInboundIn(data))
            if self.text.hasSuffix("\n") { self.promise.succeed(self.text) }
        }

        func channelInactive(context: ChannelHandlerContext) {
            self.promise.fail(ChannelError.eof)
        }
    }

    private static func echoServer() async throws -> any Channel {
        let pem = Array(try Certificate.generate().pem.utf8)
        let context = try NIOSSLContext(
            configuration: .makeServerConfiguration(
                certificateChain: NIOSSLCertificate.fromPEMBytes(pem).map { .certificate($0) },
                privateKey: .privateKey(NIOSSLPrivateKey(bytes: pem, format: .pem))
            )
        )
        return try await ServerBootstrap(group: Self.loop)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandlers(NIOSSLServerHandler(context: context), Echo())
                }
            }
            .bind(host: "127.0.0.1", port: 0)
            .get()
    }

    @Test func bytesGoToTheAddressThatAnswers() async throws {
        let server = try await Self.echoServer()
        let port = try #require(server.localAddress?.port)
        var trust = TLSConfiguration.makeClientConfiguration()
        trust.certificateVerification = .none
        let tunnel = try await TLSTunnel.open(
            to: try ICEServerURL(parsing: "turns:turn.example.org:\(port)"),
            logger: Logger(label: "test"),
            tls: trust,
            resolver: TwoAddresses()
        )
        for endpoint in tunnel.endpoints {
            let heard = Self.loop.makePromise(of: String.self)
            let agent = try await ClientBootstrap(group: Self.loop)
                .channelInitializer { channel in
                    channel.eventLoop.makeCompletedFuture {
                        try channel.pipeline.syncOperations.addHandler(Heard(heard))
                    }
                }
                .connect(host: endpoint.address, port: endpoint.port)
                .get()
            try await agent.writeAndFlush(ByteBuffer(string: "Allocate\n"))
            #expect(try await heard.futureResult.get() == "Allocate\n")
            try await agent.close()
        }
        await tunnel.close()
        try await server.close()
    }
}
