// SPDX-License-Identifier: Apache-2.0

import NIOCore
import NIOHTTP1
import NIOWebSocket
import Signalling

/// One HTTP connection: reads requests with limits on size and time, answers pages itself, hands Engine.IO to sessions,
/// and turns into a WebSocket.
///
/// Used only on the server's event loop. Requests are answered one after the other; a request that comes while a poll
/// is held closes the connection, as no client pipelines polls.
final class HTTPRequestHandler: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias OutboundOut = HTTPServerResponsePart

    private enum State {
        /// Between two requests.
        case waiting
        /// The head came; the body is coming. The session is set for a post that it accepted.
        case reading(HTTPRequestHead, body: ByteBuffer, session: EngineIOSession?)
        /// The request is complete and its answer is due, perhaps much later.
        case answering(HTTPRequestHead)
        /// No more requests: the connection closes or becomes a WebSocket.
        case done
    }

    private let hub: RoomServerHub
    private let httpHandlers: [any RemovableChannelHandler]
    private var state = State.waiting
    private var context: ChannelHandlerContext?
    private var holder: EngineIOSession?
    private var timer: Scheduled<Void>?
    /// Goes with the next response.
    private var cookie: String?

    /// A handler at the end of a pipeline.
    /// - Parameter httpHandlers: Handlers that must leave the pipeline before WebSocket frames come: first the decoder,
    ///   last the encoder.
    init(hub: RoomServerHub, httpHandlers: [any RemovableChannelHandler]) {
        self.hub = hub
        self.httpHandlers = httpHandlers
    }

    /// Notes the session that is notified when the connection closes before the answer.
    func isHeld(by session: EngineIOSession) {
        self.holder = session
    }

    /// Answers the request that is due.
    func respond(_ response: HTTPResponse) {
        guard let context = self.context, case .answering(let head) = self.state else { return }
        self.holder = nil
        let isKept = head.isKeepAlive && !response.closesConnection
        self.write(response, to: head, isKept: isKept, context: context)
        self.state = isKept ? .waiting : .done
        self.startTimer(context: context)
    }

    /// Answers a request whose body was not read, and closes.
    func respondAndClose(_ response: HTTPResponse) {
        guard case .reading(let head, _, _) = self.state else { return }
        var response = response
        response.closesConnection = true
        self.state = .answering(head)
        self.respond(response)
    }

    func handlerAdded(context: ChannelHandlerContext) {
        self.context = context
        self.startTimer(context: context)
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        self.context = nil
        self.timer?.cancel()
        self.timer = nil
    }

    func channelInactive(context: ChannelHandlerContext) {
        self.state = .done
        self.holder?.requestAborted(self)
        self.holder = nil
        context.fireChannelInactive()
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        context.close(promise: nil)
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        switch (self.unwrapInboundIn(data), self.state) {
        case (.head(let head), .waiting):
            // A client that asks on and on without reading the answers.
            guard context.channel.isWritable else { return context.close(promise: nil) }
            self.headReceived(head)
        case (.body(var part), .reading(let head, var body, let session)):
            guard body.readableBytes + part.readableBytes <= RoomServerConfiguration.maximumMessageBytes else {
                self.refuseOversize()
                return
            }
            // Let go of the state's copy, so that appending does not copy the body.
            self.state = .done
            body.writeBuffer(&part)
            self.state = .reading(head, body: body, session: session)
        case (.end, .reading(let head, let body, let session)):
            self.timer?.cancel()
            self.state = .answering(head)
            self.requestCompleted(head, body: body, session: session)
        case (.head, .answering):
            self.state = .done
            context.close(promise: nil)
        case (_, .done), (.body, .waiting), (.end, .waiting), (.head, .reading), (.body, .answering),
            (.end, .answering):
            break
        }
    }

    private func headReceived(_ head: HTTPRequestHead) {
        self.state = .reading(head, body: ByteBuffer(), session: nil)
        // RFC 9112 section 3.2.
        let hosts = head.headers["Host"].count
        guard hosts == 1 || hosts == 0 && head.version != .http1_1 else {
            return self.respondAndClose(.text(.badRequest))
        }
        let length = head.headers.first(name: "Content-Length").flatMap { Int($0) } ?? 0
        guard length <= RoomServerConfiguration.maximumMessageBytes else { return self.refuseOversize() }
        let target = HTTPTarget(head.uri)
        guard Self.isEnginePath(target.path), head.method == .POST,
            let request = try? EngineIORequest(target: target, isGET: false), request.transport == .polling,
            let session = request.sessionID.flatMap({ self.hub.session($0) })
        else { return }
        if session.postBegan(self) { self.state = .reading(head, body: ByteBuffer(), session: session) }
    }

    private func refuseOversize() {
        let holder = self.holder
        self.holder = nil
        self.respondAndClose(.text(.payloadTooLarge))
        holder?.requestAborted(self)
    }

    private func requestCompleted(_ head: HTTPRequestHead, body: ByteBuffer, session: EngineIOSession?) {
        if let session {
            self.holder = nil
            session.postCompleted(self, body: [UInt8](body.readableBytesView))
            return
        }
        let target = HTTPTarget(head.uri)
        guard Self.isEnginePath(target.path) else {
            if Self.wantsWebSocket(head) { return self.skyRTCRequestCompleted(head) }
            let response = PageResponder.response(method: head.method, path: target.path) { self.hub.health }
            return self.respond(response)
        }
        switch head.method {
        case .GET, .POST: self.engineRequestCompleted(head, target: target)
        case .OPTIONS: self.respond(.preflight)
        default: self.respond(.methodNotAllowed(allowed: "GET, POST, OPTIONS"))
        }
    }

    private func engineRequestCompleted(_ head: HTTPRequestHead, target: HTTPTarget) {
        do {
            let request = try EngineIORequest(target: target, isGET: head.method == .GET)
            switch request.transport {
            case .webSocket: try self.upgrade(head, request: request)
            case .polling: try self.poll(head, request: request)
            }
        } catch {
            self.respond(.refusal(error))
        }
    }

    private func poll(_ head: HTTPRequestHead, request: EngineIORequest) throws(EngineIORefusal) {
        if let id = request.sessionID {
            guard let session = self.hub.session(id) else { throw .unknownSessionID }
            // A post to a session that is known was accepted or refused with its head.
            guard head.method == .GET else { throw .badRequest }
            return session.pollReceived(self)
        }
        guard let session = self.hub.makeSession(version: request.version, transport: .polling) else {
            throw .forbidden
        }
        if request.version == .three {
            // Some load balancers in front of Socket.IO 2 servers go by it; our own clients keep it.
            self.cookie = "io=\(session.id); Path=/; HttpOnly; SameSite=Lax"
        }
        session.start(on: nil)
        session.pollReceived(self)
    }

    private func upgrade(_ head: HTTPRequestHead, request: EngineIORequest) throws(EngineIORefusal) {
        if let id = request.sessionID {
            guard self.hub.session(id) != nil else { throw .unknownSessionID }
        } else {
            guard self.hub.mayOpenSession else { throw .forbidden }
        }
        guard let context = self.context, Self.wantsWebSocket(head) else { throw .badRequest }
        self.upgrade(head, refusal: .refusal(.badRequest), context: context) { hub, webSocket in
            guard let id = request.sessionID else {
                let session = hub.makeSession(version: request.version, transport: .webSocket)
                session?.start(on: webSocket)
                return session
            }
            // The session may have ended while the handshake was under way.
            let session = hub.session(id)
            session?.probeOpened(webSocket)
            return session
        }
    }

    /// Every WebSocket outside of Engine.IO is a SkyRTC client: their paths differ.
    private func skyRTCRequestCompleted(_ head: HTTPRequestHead) {
        guard let context = self.context, self.hub.mayOpenSession else {
            return self.respond(.text(.serviceUnavailable))
        }
        self.upgrade(head, refusal: .text(.badRequest), context: context) { hub, webSocket in
            hub.makeSkyRTCSession(on: webSocket)
        }
    }

    private static func wantsWebSocket(_ head: HTTPRequestHead) -> Bool {
        head.method == .GET && head.version == .http1_1
            && head.headers[canonicalForm: "Connection"].contains { $0.lowercased() == "upgrade" }
            && head.headers[canonicalForm: "Upgrade"].contains { $0.lowercased() == "websocket" }
    }

    private func upgrade(
        _ head: HTTPRequestHead,
        refusal: HTTPResponse,
        context: ChannelHandlerContext,
        open: @escaping (RoomServerHub, WebSocketHandler) -> (any WebSocketOwner)?
    ) {
        let loop = context.eventLoop
        let bound = NIOLoopBound((self, context), eventLoop: loop)
        let opening = NIOLoopBound((self.hub, open), eventLoop: loop)
        let upgrader = NIOWebSocketServerUpgrader(
            maxFrameSize: RoomServerConfiguration.maximumMessageBytes,
            automaticErrorHandling: false,
            shouldUpgrade: { channel, _ in channel.eventLoop.makeSucceededFuture([:]) },
            upgradePipelineHandler: { channel, _ in
                channel.eventLoop.makeCompletedFuture {
                    let handler = WebSocketHandler(hub: opening.value.0, open: opening.value.1)
                    try channel.pipeline.syncOperations.addHandlers(handler.handlers)
                }
            }
        )
        let response = upgrader.buildUpgradeResponse(
            channel: context.channel,
            upgradeRequest: head,
            initialResponseHeaders: [:]
        )
        response.whenComplete { result in
            let (handler, context) = bound.value
            switch result {
            case .success(let headers): handler.upgrade(head, headers: headers, upgrader: upgrader, context: context)
            case .failure: handler.respond(refusal)
            }
        }
    }

    /// Takes HTTP out of the pipeline, then answers, then puts WebSocket in: no byte can reach the wrong decoder, because
    /// the last two steps happen in one turn of the event loop.
    private func upgrade(
        _ head: HTTPRequestHead,
        headers: HTTPHeaders,
        upgrader: NIOWebSocketServerUpgrader,
        context: ChannelHandlerContext
    ) {
        self.state = .done
        let pipeline = context.pipeline.syncOperations
        guard let decoder = self.httpHandlers.first else { return }
        let bound = NIOLoopBound((self, context), eventLoop: context.eventLoop)
        pipeline.removeHandler(decoder).whenComplete { result in
            let (handler, context) = bound.value
            guard case .success = result, context.channel.isActive else {
                return context.close(promise: nil)
            }
            let pipeline = context.pipeline.syncOperations
            let response = HTTPResponseHead(version: .http1_1, status: .switchingProtocols, headers: headers)
            context.writeAndFlush(handler.wrapOutboundOut(.head(response)), promise: nil)
            for httpHandler in handler.httpHandlers.dropFirst() {
                pipeline.removeHandler(httpHandler, promise: nil)
            }
            upgrader.upgrade(context: context, upgradeRequest: head)
                .whenFailure { _ in bound.value.1.close(promise: nil) }
            pipeline.removeHandler(handler, promise: nil)
        }
    }

    private func write(_ response: HTTPResponse, to head: HTTPRequestHead, isKept: Bool, context: ChannelHandlerContext)
    {
        var headers = response.headers
        headers.replaceOrAdd(name: "Content-Length", value: String(response.body.count))
        if let cookie = self.cookie { headers.add(name: "Set-Cookie", value: cookie) }
        self.cookie = nil
        if !isKept { headers.replaceOrAdd(name: "Connection", value: "close") }
        if Self.isEnginePath(HTTPTarget(head.uri).path) { headers.addCrossOrigin(for: head) }
        let responseHead = HTTPResponseHead(version: .http1_1, status: response.status, headers: headers)
        context.write(self.wrapOutboundOut(.head(responseHead)), promise: nil)
        if head.method != .HEAD, !response.body.isEmpty {
            let body = context.channel.allocator.buffer(bytes: response.body)
            context.write(self.wrapOutboundOut(.body(.byteBuffer(body))), promise: nil)
        }
        let written = context.eventLoop.makePromise(of: Void.self)
        if !isKept {
            let channel = context.channel
            written.futureResult.whenComplete { _ in channel.close(promise: nil) }
        }
        context.writeAndFlush(self.wrapOutboundOut(.end(nil)), promise: written)
    }

    /// Closes the connection unless the next request is complete in time.
    ///
    /// A client that does not read its answer is closed by it too.
    private func startTimer(context: ChannelHandlerContext) {
        self.timer?.cancel()
        let channel = context.channel
        self.timer = self.hub.schedule(after: self.hub.configuration.requestTimeout) { channel.close(promise: nil) }
    }

    private static func isEnginePath(_ path: String) -> Bool {
        path == RoomServerConfiguration.enginePath || path + "/" == RoomServerConfiguration.enginePath
    }
}

extension HTTPHeaders {
    /// Lets pages of every origin use Engine.IO, with cookies, as Socket.IO 2 servers do: the rooms hold nothing that
    /// the page's origin protects.
    fileprivate mutating func addCrossOrigin(for request: HTTPRequestHead) {
        guard let origin = request.headers.first(name: "Origin"), origin.utf8.count <= 512 else { return }
        self.replaceOrAdd(name: "Access-Control-Allow-Origin", value: origin)
        self.replaceOrAdd(name: "Access-Control-Allow-Credentials", value: "true")
        self.add(name: "Vary", value: "Origin")
    }
}
