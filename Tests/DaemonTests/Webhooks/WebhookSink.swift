// SPDX-License-Identifier: Apache-2.0

import NIOCore
import NIOHTTP1
import NIOPosix
import Synchronization

/// A receiver of webhooks in this process: notes every request and answers as it was told.
final class WebhookSink: Sendable {
    /// A request as it came.
    struct Request: Sendable {
        var path: String
        var headers: HTTPHeaders
        var body: [UInt8]
    }

    /// What a request is answered with.
    enum Answer: Sendable {
        case status(UInt, headers: [String: String] = [:], body: String = "")
        /// No answer; the connection stays open.
        case silence
        /// The connection is closed without an answer.
        case hangUp
    }

    let requests: AsyncStream<Request>
    let port: Int
    private let channel: any Channel

    /// - Parameter script: The answers in turn; the last one for all that follow.
    init(_ script: [Answer] = [.status(204)]) async throws {
        let (requests, continuation) = AsyncStream.makeStream(of: Request.self, bufferingPolicy: .bufferingNewest(1000))
        self.requests = requests
        let answers = Script(script)
        self.channel = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .serverChannelOption(.backlog, value: 16)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.configureHTTPServerPipeline()
                    try channel.pipeline.syncOperations.addHandler(Handler(answers: answers, requests: continuation))
                }
            }
            .bind(host: "127.0.0.1", port: 0).get()
        self.port = self.channel.localAddress?.port ?? 0
    }

    var url: String { "http://127.0.0.1:\(self.port)/hook" }

    func close() async throws { try await self.channel.close() }

    /// The answers that are still to be given.
    private final class Script: Sendable {
        private let answers: Mutex<[Answer]>

        init(_ answers: [Answer]) { self.answers = Mutex(answers) }

        func next() -> Answer {
            self.answers.withLock { $0.count > 1 ? $0.removeFirst() : $0.first ?? .hangUp }
        }
    }

    private final class Handler: ChannelInboundHandler {
        typealias InboundIn = HTTPServerRequestPart
        typealias OutboundOut = HTTPServerResponsePart

        private let answers: Script
        private let requests: AsyncStream<Request>.Continuation
        private var request = Request(path: "", headers: [:], body: [])

        init(answers: Script, requests: AsyncStream<Request>.Continuation) {
            self.answers = answers
            self.requests = requests
        }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            switch self.unwrapInboundIn(data) {
            case .head(let head): self.request = Request(path: head.uri, headers: head.headers, body: [])
            case .body(let buffer): self.request.body += buffer.readableBytesView
            case .end:
                self.requests.yield(self.request)
                self.answer(context)
            }
        }

        private func answer(_ context: ChannelHandlerContext) {
            switch self.answers.next() {
            case .silence: break
            case .hangUp: context.close(promise: nil)
            case .status(let code, let headers, let body):
                var head = HTTPResponseHead(version: .http1_1, status: .init(statusCode: Int(code)))
                head.headers = HTTPHeaders(Array(headers))
                head.headers.add(name: "Content-Length", value: "\(body.utf8.count)")
                context.write(self.wrapOutboundOut(.head(head)), promise: nil)
                context.write(self.wrapOutboundOut(.body(.byteBuffer(ByteBuffer(string: body)))), promise: nil)
                context.writeAndFlush(self.wrapOutboundOut(.end(nil)), promise: nil)
            }
        }
    }
}
