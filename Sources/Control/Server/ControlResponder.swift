// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import Hummingbird
import Logging
import NIOCore
import NIOHTTP1
import Observability
import Synchronization

/// Takes a request from the connection to its endpoint and back: who may ask, what is asked, and an answer for every
/// failure.
final class ControlResponder: HTTPResponder {
    private let endpoints: Endpoints
    private let gatekeeper: Gatekeeper
    private let origins: OriginPolicy
    private let reader: BodyReader
    private let targetBytes: Int
    private let idempotency = Mutex(IdempotencyCache())
    private let logger: Logger
    private let now: @Sendable () -> Duration
    private let onAnswer: ControlServer.OnAnswer

    init(
        endpoints: Endpoints,
        configuration: ControlConfiguration,
        logger: Logger,
        now: @escaping @Sendable () -> Duration,
        onAnswer: @escaping ControlServer.OnAnswer
    ) {
        self.endpoints = endpoints
        self.gatekeeper = endpoints.gatekeeper
        self.origins = OriginPolicy(configuration)
        self.reader = BodyReader(limit: configuration.limits.bodyBytes)
        self.targetBytes = configuration.limits.targetBytes
        self.logger = logger
        self.now = now
        self.onAnswer = onAnswer
    }

    func respond(to request: Request, context: ControlContext) async throws -> Response {
        let start = self.now()
        var response: Response
        do {
            response = try await self.answer(request, context)
        } catch let error as HTTPParserError {
            // The connection answers what is not HTTP.
            throw error
        } catch {
            response = self.problem(error, request).reply.response
        }
        self.addHeaders(to: &response, for: request)
        self.onAnswer(Self.group(of: request), response.status.code, self.now() - start)
        self.logger.debug(
            "request answered",
            metadata: .tagged([
                .httpMethod: "\(request.method.rawValue)", .httpTarget: "\(request.uri.path.prefix(200))",
                .httpStatus: "\(response.status.code)", .clientAddress: "\(context.clientAddress)",
            ])
        )
        return request.method == .head ? response.createHeadResponse() : response
    }

    /// The group of a request's metrics; also for one that is refused before its path is read.
    private static func group(of request: Request) -> RouteGroup {
        guard let segments = try? PathSegments.decode(request.uri.path) else { return .other }
        return Route(segments)?.group ?? .other
    }

    private func answer(_ request: Request, _ context: ControlContext) async throws -> Response {
        let now = self.now()
        guard (request.head.path ?? "").utf8.count <= self.targetBytes else {
            throw Problem(.uriTooLong, "The request target is longer than \(self.targetBytes) bytes.")
        }
        let isOpen = self.gatekeeper.isOpen
        guard !isOpen || self.origins.isKnown(host: request.head.authority) else {
            throw Problem(
                .forbidden,
                "The server is not known under this host name. Without a token it answers to localhost, 127.0.0.1, [::1] and "
                    + "its own address only: a proxy must send one of these as Host, or the configuration a token (api.token)."
            )
        }
        if let preflight = self.preflight(request) { return preflight }
        guard let route = Route(try PathSegments.decode(request.uri.path)) else {
            throw Problem(.notFound, "There is nothing at this path.")
        }
        guard let endpoint = route.endpoint(for: request.method) else {
            throw Problem(.methodNotAllowed, "The path takes \(route.allow).").with(.allow, route.allow)
        }
        let client = try self.gatekeeper.admit(
            Gatekeeper.Credentials(
                authorization: request.headers[.authorization],
                cookie: request.cookies[BrowserSessions.cookieName]?.value
            ),
            address: context.clientAddress,
            now: now
        )
        try Gatekeeper.require(endpoint, of: client)
        try self.checkOrigin(of: request, client)
        // Nothing has the tag that it names; its sender does not want anything to happen then.
        if !endpoint.hasEntityTag, let tags = request.headers[.ifMatch], tags[...].trimmingSpaces != "*" {
            throw Problem(.preconditionFailed, "The resource at this path has no entity tag.")
        }
        var call = Endpoints.Call(request: request, client: client, address: context.clientAddress, now: now)
        guard request.method == .post || request.method == .patch else {
            return try await self.endpoints.response(to: endpoint, call)
        }
        let body = try await self.reader.bytes(of: request)
        call.body = try self.reader.object(body, type: request.headers[.contentType], rule: endpoint.body)
        call.text = String(buffer: body)
        guard endpoint.isRepeatable, let key = request.headers[.idempotencyKey] else {
            return try await self.endpoints.reply(to: endpoint, call).response
        }
        return try await self.performOnce(endpoint, call, body, key: key).response
    }

    /// Performs a request unless it was performed before.
    private func performOnce(
        _ endpoint: Endpoint,
        _ call: Endpoints.Call,
        _ body: ByteBuffer,
        key: String
    ) async throws(Problem) -> Reply {
        guard (1...255).contains(key.utf8.count), key.utf8.allSatisfy({ (0x21...0x7e).contains($0) }) else {
            throw Problem(.badRequest, "\"Idempotency-Key\" must be 1 to 255 visible ASCII characters.")
        }
        let key = IdempotencyCache.Key(
            client: call.client?.name ?? "",
            target: "\(call.request.method.rawValue) \(call.request.uri.path)",
            key: key
        )
        let verdict = self.idempotency.withLock { $0.requested(key, body: body.readableBytesView, now: call.now) }
        switch verdict {
        case .replay(let reply): return reply.with(.idempotencyReplayed, "true")
        case .busy:
            throw Problem(.conflict, "A request with this idempotency key is being performed.")
                .with(.retryAfter, "1")
        case .mismatch:
            throw Problem(.idempotencyMismatch, "The idempotency key was used with another body.")
        case .perform: break
        }
        let reply: Reply
        do {
            reply = try await self.endpoints.reply(to: endpoint, call)
        } catch {
            reply = self.problem(error, call.request).reply
        }
        self.idempotency.withLock { $0.finished(key, reply) }
        return reply
    }

    /// Only a token in the request itself shows that no page of another site made a browser send it.
    private func checkOrigin(of request: Request, _ client: Gatekeeper.Client?) throws(Problem) {
        let isSafe = request.method == .get || request.method == .head
        guard !isSafe, client?.proof != .token else { return }
        let mayChange = self.origins.mayChange(
            origin: request.headers[.origin],
            host: request.head.authority,
            fetchSite: request.headers[.secFetchSite],
            needsOrigin: client?.proof == .cookie
        )
        guard mayChange else { throw Problem(.forbidden, "Pages of another origin may not change anything.") }
    }

    /// Answers a CORS preflight of an origin that is allowed.
    private func preflight(_ request: Request) -> Response? {
        guard request.method == .options, request.headers[.accessControlRequestMethod] != nil,
            let origin = request.headers[.origin], self.origins.isAllowed(origin: origin)
        else { return nil }
        let headers: HTTPFields = [
            .accessControlAllowMethods: "GET, HEAD, POST, PATCH, DELETE",
            .accessControlAllowHeaders:
                "Authorization, Content-Type, Idempotency-Key, If-None-Match, Last-Event-ID, Range",
            .accessControlMaxAge: "600",
        ]
        return Response(status: .noContent, headers: headers)
    }

    private func addHeaders(to response: inout Response, for request: Request) {
        response.headers[.xContentTypeOptions] = "nosniff"
        response.headers[.crossOriginResourcePolicy] = "same-origin"
        if response.headers[.cacheControl] == nil { response.headers[.cacheControl] = "no-store" }
        guard let origin = request.headers[.origin], self.origins.isAllowed(origin: origin) else { return }
        response.headers[.accessControlAllowOrigin] = origin
        response.headers[.vary] = "Origin"
        response.headers[.crossOriginResourcePolicy] = "cross-origin"
        response.headers[.accessControlExposeHeaders] =
            "Link, Location, Retry-After, ETag, Content-Range, Idempotency-Replayed"
    }

    /// The problem that a failure is to the client; logs what is our own.
    private func problem(_ error: any Error, _ request: Request) -> Problem {
        switch error {
        case let problem as Problem: return problem
        case let error as ControlError:
            if error.code == .failed { self.log(error.message, request) }
            return Problem(error)
        default:
            self.log("\(error)", request)
            return Problem(.failed, "The server could not answer; its log says why.")
        }
    }

    private func log(_ message: String, _ request: Request) {
        self.logger.error(
            "request failed",
            metadata: .tagged([
                .httpMethod: "\(request.method.rawValue)", .httpTarget: "\(request.uri.path.prefix(200))",
                .errorMessage: "\(message)",
            ])
        )
    }
}
