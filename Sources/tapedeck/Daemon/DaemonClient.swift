// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import AsyncHTTPClient
import ConfigurationFile
import Foundation
import NIOCore
import NIOHTTP1

/// How a command finds the running daemon.
struct DaemonOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "The daemon's interface, such as http://127.0.0.1:8330.",
            discussion: "The token is taken from TAPEDECK_TOKEN."
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
            let host = api.host.contains(":") ? "[\(api.host)]" : api.host
            var known: String?
            if case .plain(let secret)? = api.tokens.first?.credential { known = secret.value }
            return DaemonClient(base: "http\(api.tls == nil ? "" : "s")://\(host):\(api.port)", token: token ?? known)
        } catch {
            throw CommandFailure(.usage, "\(error)")
        }
    }
}

/// Asks the running daemon over its HTTP interface.
struct DaemonClient: Sendable {
    private static let maximumAnswer = 16 << 20
    private static let timeout = TimeAmount.seconds(35)

    let base: String
    let token: String?

    /// The answer to a GET.
    func get<Answer: Decodable>(_ path: String, as type: Answer.Type = Answer.self) async throws -> Answer {
        let data = try await self.request(.GET, path)
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
    func post(_ path: String) async throws { _ = try await self.request(.POST, path) }

    private struct Problem: Decodable {
        var title: String?
        var detail: String?
        var problems: [String]?
    }

    private func request(_ method: HTTPMethod, _ path: String) async throws -> Data {
        var request = HTTPClientRequest(url: self.base + path)
        request.method = method
        if let token = self.token { request.headers.add(name: "Authorization", value: "Bearer \(token)") }
        let status: HTTPResponseStatus
        let data: Data
        // A daemon that does not listen is told at once, not tried until the time is over.
        var configuration = HTTPClient.Configuration()
        configuration.connectionPool.retryConnectionEstablishment = false
        do {
            (status, data) = try await HTTPClient.withHTTPClient(configuration: configuration) { client in
                let response = try await client.execute(request, timeout: Self.timeout)
                let body = try await response.body.collect(upTo: Self.maximumAnswer)
                return (response.status, Data(body.readableBytesView))
            }
        } catch {
            throw CommandFailure(
                .notJoined,
                "no daemon answers at \(self.base): \(error). Is `tapedeck run` running? --api or --config tells where."
            )
        }
        guard status.code >= 300 else { return data }
        let problem = try? JSONDecoder().decode(Problem.self, from: data)
        var text = problem?.detail ?? problem?.title ?? "status \(status.code)"
        if status == .unauthorized { text += " (TAPEDECK_TOKEN holds the token)" }
        throw CommandFailure(.usage, ([text] + (problem?.problems ?? [])).joined(separator: "\n"))
    }
}
