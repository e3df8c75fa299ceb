// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import NIOCore
import NIOHTTP1
import NIOHTTPTypes
import NIOHTTPTypesHTTP1

/// Watches one connection: answers what is not HTTP, and drops who sends or reads too slowly.
///
/// Lives in the connection's pipeline, on its event loop.
final class ConnectionGuard: ChannelDuplexHandler, RemovableChannelHandler {
    typealias InboundIn = HTTPRequestPart
    typealias InboundOut = HTTPRequestPart
    typealias OutboundIn = HTTPResponsePart
    typealias OutboundOut = HTTPResponsePart

    /// Time for a client to take the last answer and to close.
    ///
    /// Closing at once while the client still sends would reset the connection and lose the answer.
    private static let lingerTime: TimeAmount = .seconds(1)

    private let requestTime: TimeAmount
    private let stallTime: TimeAmount
    private let bodyBytes: Int
    private var isReceiving = false
    private var unanswered = 0
    private var hasBegunAnswer = false
    private var closesAfterAnswer = false
    private var isClosing = false
    private var requestTimer: Scheduled<Void>?
    private var stallTimer: Scheduled<Void>?

    init(_ limits: ControlConfiguration.Limits) {
        self.requestTime = TimeAmount(limits.requestTime)
        self.stallTime = TimeAmount(limits.stallTime)
        self.bodyBytes = limits.bodyBytes
    }

    /// Puts `RequestHeadGuard` before the codec: the framework offers places behind it only.
    func handlerAdded(context: ChannelHandlerContext) {
        let pipeline = context.pipeline.syncOperations
        do {
            let codec = try pipeline.handler(type: HTTP1ToHTTPServerCodec.self)
            try pipeline.addHandler(RequestHeadGuard(), position: .before(codec))
        } catch {
            context.close(promise: nil)
        }
    }

    func handlerRemoved(context: ChannelHandlerContext) { self.cancelTimers() }

    func channelInactive(context: ChannelHandlerContext) {
        self.cancelTimers()
        context.fireChannelInactive()
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard !self.isClosing else { return }
        switch self.unwrapInboundIn(data) {
        case .head(let head):
            self.isReceiving = true
            self.unanswered += 1
            self.requestTimer = self.schedule(context, in: self.requestTime) { guardian, context in
                guardian.refuse(context, Problem(.requestTimeout, "The request did not arrive in time."))
            }
            self.invite(context, head)
        case .body: break
        case .end:
            self.isReceiving = false
            self.requestTimer?.cancel()
            self.requestTimer = nil
        }
        context.fireChannelRead(data)
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        switch error {
        case HTTPParserError.headerOverflow:
            self.refuse(context, Problem(.headersTooLarge, "The header fields are larger than the limit."))
        case is HTTPParserError: self.refuse(context, Problem(.badRequest, "This is not HTTP/1.1."))
        case is RequestHeadGuard.HostViolation:
            self.refuse(context, Problem(.badRequest, "A request has one \"Host\" field, and not more."))
        default: context.fireErrorCaught(error)
        }
    }

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        guard !self.isClosing else {
            promise?.fail(ChannelError.ioOnClosedChannel)
            return
        }
        var data = data
        var promise = promise
        switch self.unwrapOutboundIn(data) {
        case .head(var head):
            self.hasBegunAnswer = true
            self.closesAfterAnswer = head.headerFields[.connection] == "close"
            if self.isReceiving, self.unanswered == 1 {
                head.headerFields[.connection] = "close"
                data = self.wrapOutboundOut(.head(head))
            }
        case .body: break
        case .end:
            self.hasBegunAnswer = false
            self.unanswered -= 1
            // Answered before it was sent to its end: the rest, however long, is not worth reading.
            if self.isReceiving, self.unanswered == 0 {
                self.linger(context)
            } else if self.closesAfterAnswer {
                promise = promise ?? context.eventLoop.makePromise()
                let channel = context.channel
                promise?.futureResult.whenComplete { _ in channel.close(promise: nil) }
            }
        }
        context.write(data, promise: promise)
        self.watchStall(context)
    }

    func channelWritabilityChanged(context: ChannelHandlerContext) {
        self.watchStall(context)
        context.fireChannelWritabilityChanged()
    }

    /// Answers `Expect: 100-continue` (RFC 9110 section 10.1.1) for a body that will be taken.
    private func invite(_ context: ChannelHandlerContext, _ head: HTTPRequest) {
        guard head.headerFields[.expect]?.lowercased() == "100-continue", self.unanswered == 1,
            let length = head.headerFields[.contentLength].flatMap(Int.init), length <= self.bodyBytes
        else { return }
        context.writeAndFlush(self.wrapOutboundOut(.head(HTTPResponse(status: .continue))), promise: nil)
    }

    /// Writes a problem if no answer is on its way, and closes.
    private func refuse(_ context: ChannelHandlerContext, _ problem: Problem) {
        guard !self.isClosing else { return }
        self.isClosing = true
        guard !self.hasBegunAnswer, self.unanswered <= 1 else {
            context.close(promise: nil)
            return
        }
        let reply = problem.reply
        var head = HTTPResponse(status: reply.status, headerFields: reply.headers)
        head.headerFields[.contentLength] = String(reply.body.readableBytes)
        head.headerFields[.connection] = "close"
        head.headerFields[.cacheControl] = "no-store"
        head.headerFields[.xContentTypeOptions] = "nosniff"
        context.write(self.wrapOutboundOut(.head(head)), promise: nil)
        context.write(self.wrapOutboundOut(.body(reply.body)), promise: nil)
        context.writeAndFlush(self.wrapOutboundOut(.end(nil)), promise: nil)
        self.linger(context)
    }

    private func linger(_ context: ChannelHandlerContext) {
        self.requestTimer?.cancel()
        self.requestTimer = self.schedule(context, in: Self.lingerTime) { _, context in context.close(promise: nil) }
    }

    private func watchStall(_ context: ChannelHandlerContext) {
        if context.channel.isWritable {
            self.stallTimer?.cancel()
            self.stallTimer = nil
        } else if self.stallTimer == nil {
            self.stallTimer = self.schedule(context, in: self.stallTime) { _, context in context.close(promise: nil) }
        }
    }

    private func schedule(
        _ context: ChannelHandlerContext,
        in time: TimeAmount,
        _ action: @escaping (ConnectionGuard, ChannelHandlerContext) -> Void
    ) -> Scheduled<Void> {
        context.eventLoop.assumeIsolated().scheduleTask(in: time) { action(self, context) }
    }

    private func cancelTimers() {
        self.requestTimer?.cancel()
        self.requestTimer = nil
        self.stallTimer?.cancel()
        self.stallTimer = nil
    }
}
