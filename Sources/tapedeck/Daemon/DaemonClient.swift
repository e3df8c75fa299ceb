// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Basics
import ConfigurationFile
import Foundation
import HTTPRequests
import Model

/// How a command finds the running daemon.
struct DaemonOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "The daemon's HTTP API. Default: from --config, else http://127.0.0.1:8330.",
            discussion: "The token is read from TAPEDECK_TOKEN."
        )
    )
    var api: String?

    @Option(help: "The daemon's configuration file, to read address and token from.")
    var config: String?

    /// A client for what the options name.
    func client() throws -> DaemonClient {
        let token = ProcessInfo.processInfo.environment["TAPEDECK_TOKEN"].flatMap { $0.isEmpty ? nil : $0 }
        if let api = self.api {
            guard let url = URL(string: api), ["http", "https"].contains(url.scheme), url.host != nil else {
                throw CommandFailure(.usage, "\(api) is no address of an interface, such as http://127.0.0.1:8330")
            }
            return DaemonClient(base: api.hasSuffix("/") ? String(api.dropLast()) : api, token: token)
        }
        guard let path = self.config else { return DaemonClient(base: "http://127.0.0.1:8330", token: token) }
        do throws(ConfigurationError) {
            let api = try DaemonConfiguration.load(path: path).api
            let host = IPAddress.bracketed(api.host)
            let base = "http\(api.tls == nil ? "" : "s")://\(host):\(api.port)"
            return DaemonClient(base: base, token: token ?? Self.token(of: api))
        } catch {
            throw CommandFailure(.usage, "\(error)")
        }
    }

    /// The token that is good for most, of those that are there in plain text.
    private static func token(of api: APIConfiguration) -> String? {
        let known = api.tokens.compactMap { token -> (value: String, scopes: Int)? in
            guard case .plain(let secret) = token.credential else { return nil }
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
        let data = try await self.request("GET", path)
        do {
            return try JSONDecoder().decode(type, from: data)
        } catch {
            throw CommandFailure(
                .usage,
                "\(self.base) answers what this program does not understand: is it a tapedeck?"
            )
        }
    }

    /// Posts nothing, and expects no answer but success.
    func post(_ path: String) async throws { _ = try await self.request("POST", path) }

    /// Posts JSON, and expects no answer but success.
    func post(_ path: String, _ body: some Encodable) async throws {
        _ = try await self.request("POST", path, try JSONEncoder().encode(body))
    }

    /// Changes what a path stands for, and expects no answer but success.
    func patch(_ path: String, _ body: some Encodable) async throws {
        _ = try await self.request("PATCH", path, try JSONEncoder().encode(body))
    }

    private func request(_ method: String, _ path: String, _ body: Data? = nil) async throws -> Data {
        var request = HTTPClient.Request(method, self.base + path)
        request.timeout = Self.timeout
        request.maximumBodyBytes = Self.maximumAnswer
        if let token = self.token { request.headers.append(HTTPClient.Header("Authorization", "Bearer \(token)")) }
        if let body {
            request.headers.append(HTTPClient.Header("Content-Type", "application/json"))
            request.body = [UInt8](body)
        }
        let answer: HTTPClient.Answer
        do throws(HTTPClient.Failure) {
            answer = try await HTTPClient().send(request)
        } catch {
            var reason = "\(error)"
            if case .notConnected(let number) = error { reason = String(cString: strerror(number)) }
            if case .tls(let what) = error {
                throw CommandFailure(.notJoined, "no secure connection to \(self.base): \(what)")
            }
            throw CommandFailure(
                .notJoined,
                "no daemon answers at \(self.base): \(reason). Is `tapedeck run` running? --api or --config states its address."
            )
        }
        let data = Data(answer.body)
        guard answer.status >= 300 else { return data }
        let problem = try? JSONDecoder().decode(ProblemDocument.self, from: data)
        var text = problem?.detail ?? "status \(answer.status)"
        if answer.status == 401 { text += " (TAPEDECK_TOKEN holds the token)" }
        throw CommandFailure(.usage, ([text] + (problem?.problems ?? [])).joined(separator: "\n"))
    }
}
