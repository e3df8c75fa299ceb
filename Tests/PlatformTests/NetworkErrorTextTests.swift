// SPDX-License-Identifier: Apache-2.0

import Glibc
import NIOCore
import NIOPosix
import NIOSSL
import Platform
import Testing

/// No message has the names of a library's types and functions.
@Suite(.timeLimit(.minutes(1))) struct NetworkErrorTextTests {
    @Test func saysWhatTheSystemSays() {
        let error = IOError(errnoCode: ECONNREFUSED, reason: "connect(descriptor:addr:size:)")
        #expect(NetworkErrorText.words(error) == "Connection refused")
        #expect(NetworkErrorText.words(ChannelError.connectTimeout(.seconds(4))) == "it does not answer")
        #expect(NetworkErrorText.words(ChannelError.ioOnClosedChannel) == "the connection broke")
        let other = NIOSSLExtraError.failedToValidateHostname
        #expect(NetworkErrorText.words(other) == "its certificate is for another name")
    }

    @Test func saysWhatAConnectionSays() async throws {
        let loop = MultiThreadedEventLoopGroup.singleton.next()
        let server = try await ServerBootstrap(group: loop).bind(host: "127.0.0.1", port: 0).get()
        let port = try #require(server.localAddress?.port)
        try await server.close()
        let refused = await #expect(throws: (any Error).self) {
            try await ClientBootstrap(group: loop).connect(host: "localhost", port: port).get()
        }
        #expect(try NetworkErrorText.words(#require(refused)) == "Connection refused")
        let unknown = await #expect(throws: (any Error).self) {
            try await ClientBootstrap(group: loop).connect(host: "no-such-host.invalid", port: 1).get()
        }
        #expect(try NetworkErrorText.words(#require(unknown)) == "there is no host of that name")
    }

    /// A server that speaks no TLS.
    @Test func saysWhatTLSSays() async throws {
        let loop = MultiThreadedEventLoopGroup.singleton.next()
        let server = try await ServerBootstrap(group: loop)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture { try channel.pipeline.syncOperations.addHandler(Greeter()) }
            }
            .bind(host: "127.0.0.1", port: 0).get()
        defer { server.close(promise: nil) }
        let failure = loop.makePromise(of: (any Error).self)
        let context = try NIOSSLContext(configuration: .makeClientConfiguration())
        let client = try await ClientBootstrap(group: loop)
            .channelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    let tls = try NIOSSLClientHandler(context: context, serverHostname: "localhost")
                    try channel.pipeline.syncOperations.addHandlers(tls, Errors(failure))
                }
            }
            .connect(host: "127.0.0.1", port: #require(server.localAddress?.port)).get()
        let words = NetworkErrorText.words(try await failure.futureResult.get())
        #expect(words == "TLS failed: wrong version number")
        try? await client.close()
    }

    private final class Greeter: ChannelInboundHandler {
        typealias InboundIn = ByteBuffer
        typealias OutboundOut = ByteBuffer

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            context.writeAndFlush(Self.wrapOutboundOut(ByteBuffer(string: "SSH-2.0-none\r\n")), promise: nil)
        }
    }

    private final class Errors: ChannelInboundHandler {
        typealias InboundIn = ByteBuffer

        private let promise: EventLoopPromise<any Error>

        init(_ promise: EventLoopPromise<any Error>) {
            self.promise = promise
        }

        func errorCaught(context: ChannelHandlerContext, error: any Error) {
            self.promise.succeed(error)
        }

        func channelInactive(context: ChannelHandlerContext) {
            self.promise.succeed(ChannelError.eof)
        }
    }
}
