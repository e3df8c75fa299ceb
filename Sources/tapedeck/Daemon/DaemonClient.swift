// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Basics
import ConfigurationFile
import Foundation
import HTTPRequests
import Model
import Synchronization

/// How a command finds the running daemon.
struct DaemonOptions: ParsableArguments {
    private static let usualAddress = "http://127.0.0.1:8330"

    @Option(
        help: ArgumentHelp(
            "The daemon's HTTP API. Default: the configuration's, else http://127.0.0.1:8330.",
            discussion: "The token is read from TAPEDECK_TOKEN."
        )
    )
    var api: String?

    @OptionGroup var configuration: ConfigurationOptions

    /// A client for what the options name.
    func client() throws -> DaemonClient {
        let token = ProcessInfo.processInfo.environment["TAPEDECK_TOKEN"].flatMap { $0.isEmpty ? nil : $0 }
        if let api = self.api {
            guard let url = URL(string: api), ["http", "https"].contains(url.scheme), url.host != nil else {
                throw CommandFailure(.usage, "\(api) is no address of an API, such as \(Self.usualAddress)")
            }
            return DaemonClient(base: api.hasSuffix("/") ? String(api.dropLast()) : api, token: token)
        }
        guard let api = try self.configuration.places()?.api else {
            return DaemonClient(base: Self.usualAddress, token: token)
        }
        let base = "http\(api.tls == nil ? "" : "s")://\(IPAddress.bracketed(api.host)):\(api.port)"
        return DaemonClient(base: base, token: token ?? Self.token(of: api))
    }

    /// The token that is good for most, of those that are there in plain text.
    private static func token(of api: APIConfiguration) -> String? {
        let known = api.tokens.compactMap { token -> (value: String, scopes: Int)? in
            guard case .plain(let secret) = token.credential, !token.isOfHosts else { return nil }
            return (secret.value, token.scopes.count)
        }
        return known.max { $0.scopes < $1.scopes }?.value
    }
}

/// Asks the running daemon over its HTTP interface.
struct DaemonClient: Sendable {
    private static let maximumAnswer = 16 << 20
    private static let timeout = Duration.seconds(35)

    let base: String
    let token: String?

    /// The answer to a GET.
    func get<Answer: Decodable>(_ path: String, as type: Answer.Type = Answer.self) async throws -> Answer {
        try self.decoded(try await self.request("GET", path))
    }

    /// Posts a body, or nothing, and expects no answer but success.
    func post(_ path: String, _ body: (any Encodable)? = nil) async throws {
        _ = try await self.request("POST", path, body)
    }

    /// The answer to a POST of a body, or of nothing.
    func order<Answer: Decodable>(_ path: String, _ body: (any Encodable)? = nil) async throws -> Answer {
        try self.decoded(try await self.request("POST", path, body))
    }

    /// The answer to a GET, piece by piece, on the thread of all requests.
    func stream(_ path: String, onBytes: @escaping @Sendable (UnsafeRawBufferPointer) -> Void) async throws {
        let request = self.message("GET", path)
        _ = try await self.answer { [request] () throws(HTTPClient.Failure) in
            try await HTTPClient().follow(request, onBytes: onBytes)
        }
    }

    /// Deletes what a path stands for.
    func delete(_ path: String) async throws { _ = try await self.request("DELETE", path) }

    /// Sends an order to a room; the room as it is then.
    ///
    /// - Parameter endpoint: behind the room's path.
    func tell(
        _ room: String,
        _ endpoint: String,
        _ body: (any Encodable)?,
        method: String
    ) async throws -> RoomResource {
        let path = "/v1/rooms/\(PercentCoding.encode(room))/\(endpoint)"
        do {
            return try self.decoded(try await self.request(method, path, body))
        } catch var failure as CommandFailure where failure.status == 404 {
            // A token for orders alone shows no list.
            let names = try? await self.get("/v1/rooms", as: RoomList.self).rooms.map(\.name)
            failure.message += Self.advice(on: room, among: names ?? [])
            throw failure
        }
    }

    /// What to write in the place of a name that is not known.
    private static func advice(on name: String, among known: [String]) -> String {
        if let nearest = Spelling.suggestion(for: name, among: known) { return "; did you mean \(nearest)?" }
        return known.isEmpty ? "" : "; there are: \(known.prefix(20).joined(separator: ", "))"
    }

    /// Follows the daemon's events until the stream ends or breaks; throws only if none begins.
    ///
    /// - Parameters:
    ///   - last: the id of the last event that is known; nil begins with the next one.
    ///   - onEvent: called on a thread that may wait: the daemon then keeps what comes for a while.
    func follow(
        after last: String?,
        onEvent: @escaping @Sendable (EventStreamReader.Event) -> Void
    ) async throws {
        var request = self.message("GET", "/v1/events")
        // The daemon says something every 15 s.
        request.timeout = .seconds(60)
        if let last { request.headers.append(HTTPClient.Header("Last-Event-ID", last)) }
        let reader = Mutex(EventStreamReader())
        let hasBegun = Atomic(false)
        do {
            _ = try await self.answer { [request] () throws(HTTPClient.Failure) in
                try await HTTPClient().follow(request) { bytes in
                    hasBegun.store(true, ordering: .relaxed)
                    for event in reader.withLock({ $0.take(bytes) }) { onEvent(event) }
                }
            }
        } catch {
            guard hasBegun.load(ordering: .relaxed) else { throw error }
        }
    }

    private func decoded<Answer: Decodable>(_ data: Data) throws -> Answer {
        do {
            return try JSONDecoder().decode(Answer.self, from: data)
        } catch {
            throw CommandFailure(
                .usage,
                "\(self.base) answers what this program does not understand: is it a tapedeck?"
            )
        }
    }

    private func message(_ method: String, _ path: String) -> HTTPClient.Request {
        var request = HTTPClient.Request(method, self.base + path)
        request.timeout = Self.timeout
        request.maximumBodyBytes = Self.maximumAnswer
        if let token = self.token { request.headers.append(HTTPClient.Header("Authorization", "Bearer \(token)")) }
        return request
    }

    private func request(_ method: String, _ path: String, _ body: (any Encodable)? = nil) async throws -> Data {
        var request = self.message(method, path)
        if let body {
            request.headers.append(HTTPClient.Header("Content-Type", "application/json"))
            request.body = [UInt8](try JSONEncoder().encode(body))
        }
        return try await self.answer { [request] () throws(HTTPClient.Failure) in try await HTTPClient().send(request) }
    }

    /// The body of an answer of success.
    private func answer(_ send: () async throws(HTTPClient.Failure) -> HTTPClient.Answer) async throws -> Data {
        let answer: HTTPClient.Answer
        do throws(HTTPClient.Failure) {
            answer = try await send()
        } catch {
            if case .tls(let what) = error {
                throw CommandFailure(.notJoined, "no secure connection to \(self.base): \(what)")
            }
            throw CommandFailure(
                .notJoined,
                "no daemon answers at \(self.base): \(error.reason). Is `tapedeck run` running? --api or --config states its address."
            )
        }
        let data = Data(answer.body)
        guard answer.status >= 300 else { return data }
        let problem = try? JSONDecoder().decode(ProblemDocument.self, from: data)
        var text = problem?.detail ?? "status \(answer.status)"
        if answer.status == 401 { text += " (TAPEDECK_TOKEN holds the token)" }
        var failure = CommandFailure(.usage, ([text] + (problem?.problems ?? [])).joined(separator: "\n"))
        failure.status = answer.status
        throw failure
    }
}
