// SPDX-License-Identifier: Apache-2.0

import NIOCore
import NIOPosix
import NIOSSL
import Synchronization

/// A server that notes what it reads, for each connection in turn, and answers every read with the same bytes.
final class PlainServer: Sendable {
    /// The server's answer.
    enum Answer: Sendable {
        case text(String)
        /// The same for the first read of a connection; the next one closes it.
        case textOnce(String)
        /// Nothing; the connection stays open.
        case silence
        /// The connection is closed.
        case hangUp
    }

    let port: Int
    private let notes: Notes
    private let channel: any Channel

    init(_ answer: Answer, tls: NIOSSLContext? = nil) async throws {
        let notes = Notes()
        self.notes = notes
        self.channel = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .childChannelInitializer { channel in
                let handler = Handler(answer: answer, notes: notes, index: notes.begin())
                return channel.eventLoop.makeCompletedFuture {
                    if let tls { try channel.pipeline.syncOperations.addHandler(NIOSSLServerHandler(context: tls)) }
                    try channel.pipeline.syncOperations.addHandler(handler)
                }
            }
            .bind(host: "127.0.0.1", port: 0).get()
        self.port = self.channel.localAddress?.port ?? 0
    }

    var url: String { "http://127.0.0.1:\(self.port)/a/../b?c=d" }

    /// The received requests, a text for each connection.
    var received: [String] { self.notes.texts.withLock { $0 } }

    func close() async throws { try await self.channel.close() }

    private final class Notes: Sendable {
        let texts = Mutex<[String]>([])

        func begin() -> Int {
            self.texts.withLock { texts in
                texts.append("")
                return texts.count - 1
            }
        }
    }

    private final class Handler: ChannelInboundHandler, Sendable {
        typealias InboundIn = ByteBuffer
        typealias OutboundOut = ByteBuffer

        private let answer: Answer
        private let notes: Notes
        private let index: Int

        init(answer: Answer, notes: Notes, index: Int) {
            self.answer = answer
            self.notes = notes
            self.index = index
        }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            let text = String(buffer: self.unwrapInboundIn(data))
            let isFirst = self.notes.texts.withLock { texts in
                defer { texts[self.index] += text }
                return texts[self.index].isEmpty
            }
            switch self.answer {
            case .textOnce where !isFirst: context.close(promise: nil)
            case .text(let text), .textOnce(let text):
                context.writeAndFlush(self.wrapOutboundOut(ByteBuffer(string: text)), promise: nil)
            case .silence: break
            case .hangUp: context.close(promise: nil)
            }
        }
    }
}
