// SPDX-License-Identifier: Apache-2.0

import AsyncHTTPClient
import Catalogue
import ConfigurationFile
import NIOCore
import NIOHTTP1
import NIOPosix
import Timeline

/// Makes the attempts of one webhook, one at a time.
///
/// The receiver's name is resolved before each attempt, the address checked, and the connection made to that very
/// address, so that a name that changes between the check and the connection changes nothing. One connection is kept for
/// the next attempt as long as the address stays.
struct WebhookSender {
    /// What came of an attempt.
    enum Outcome: Sendable, Hashable {
        /// The receiver has it.
        case delivered
        /// The receiver wants it no more (410).
        case gone
        /// It has to be tried again; why, one sentence without anything secret.
        case failed(String)
        /// The task was cancelled; nothing is known.
        case cancelled
    }

    /// Turns a name and a port into an address to connect to.
    typealias Resolver = @Sendable (String, Int) async throws -> SocketAddress

    /// Limit of an attempt from the connection to the head of the answer.
    static let timeLimit = Duration.seconds(10)

    private let resolve: Resolver
    private let timeLimit: Duration
    private var client: (address: String, client: HTTPClient)?

    /// - Parameter resolve: For tests, another way than the system's.
    init(resolve: @escaping Resolver = Self.systemResolver, timeLimit: Duration = Self.timeLimit) {
        self.resolve = resolve
        self.timeLimit = timeLimit
    }

    /// Asks the system, on a thread of its own: `getaddrinfo` blocks, as long as `/etc/resolv.conf` lets it.
    static let systemResolver: Resolver = { host, port in
        try await NIOThreadPool.singleton.runIfActive {
            try SocketAddress.makeAddressResolvingHost(host, port: port)
        }
    }

    /// Sends a delivery once.
    mutating func attempt(
        _ delivery: DeliveryEntry,
        to webhook: WebhookConfiguration,
        policy: TargetPolicy,
        now: UTCTime
    ) async -> Outcome {
        guard let target = TargetURL(webhook.url.value) else {
            return .failed("the URL is not an absolute http or https URL without user information")
        }
        if let refusal = policy.refusal(of: target) { return .failed("refused: \(refusal)") }
        let address: SocketAddress
        do {
            address = try await self.resolve(target.host, target.port)
        } catch is CancellationError {
            return .cancelled
        } catch {
            return .failed("the host's name was not found")
        }
        if let refusal = policy.refusal(of: address, target: target) { return .failed("refused: \(refusal)") }
        let client = await self.client(for: address, target: target)
        let request = Self.request(delivery, to: target, secret: webhook.secret.value, now: now)
        do {
            // The body of the answer is not read: dropping it closes the connection unless it was empty.
            let response = try await client.execute(request, timeout: TimeAmount(self.timeLimit))
            return Self.outcome(status: response.status)
        } catch is CancellationError {
            return .cancelled
        } catch {
            return (error as? HTTPClientError) == .cancelled ? .cancelled : .failed(Self.sentence(error))
        }
    }

    /// Closes the connection; once, after the last attempt.
    mutating func close() async {
        guard let client = self.client?.client else { return }
        self.client = nil
        // Its connections are closed either way; there is nobody to tell.
        try? await client.shutdown()
    }

    static func request(
        _ delivery: DeliveryEntry,
        to target: TargetURL,
        secret: String,
        now: UTCTime
    ) -> HTTPClientRequest {
        let timestamp = String(now.nanosecondsSince1970 / 1_000_000_000)
        var request = HTTPClientRequest(url: target.text)
        request.method = .POST
        request.headers.add(name: "Content-Type", value: "application/json")
        request.headers.add(name: "User-Agent", value: "tapedeck")
        request.headers.add(name: "Tapedeck-Event", value: delivery.event)
        request.headers.add(name: "Tapedeck-Delivery", value: delivery.id)
        request.headers.add(name: "Tapedeck-Timestamp", value: timestamp)
        request.headers.add(
            name: "Tapedeck-Signature",
            value: WebhookSignature.header(secret: secret, timestamp: timestamp, body: delivery.body)
        )
        request.body = .bytes(ByteBuffer(bytes: delivery.body))
        return request
    }

    static func outcome(status: HTTPResponseStatus) -> Outcome {
        switch status.code {
        case 200..<300: .delivered
        case 410: .gone
        case 300..<400: .failed("the receiver answered \(status.code); redirects are not followed")
        default: .failed("the receiver answered \(status.code)")
        }
    }

    private mutating func client(for address: SocketAddress, target: TargetURL) async -> HTTPClient {
        let pinned = address.ipAddress ?? target.host
        if let client = self.client, client.address == pinned { return client.client }
        await self.close()
        var configuration = HTTPClient.Configuration()
        if !target.isAddress { configuration.dnsOverride = [target.writtenHost: pinned] }
        configuration.redirectConfiguration = .disallow
        configuration.httpVersion = .http1Only
        configuration.decompression = .disabled
        configuration.connectionPool.concurrentHTTP1ConnectionsPerHostSoftLimit = 1
        // Attempts are ours to count.
        configuration.connectionPool.retryConnectionEstablishment = false
        configuration.timeout.connect = TimeAmount(self.timeLimit)
        let client = HTTPClient(
            eventLoopGroupProvider: .shared(MultiThreadedEventLoopGroup.singleton),
            configuration: configuration
        )
        self.client = (pinned, client)
        return client
    }

    /// What is known to hold neither the URL nor the answer's text.
    private static func sentence(_ error: any Error) -> String {
        switch error {
        case let error as HTTPClientError:
            switch error {
            case .connectTimeout, .readTimeout, .writeTimeout, .deadlineExceeded, .tlsHandshakeTimeout:
                "the receiver did not answer in time"
            default: "the request failed: \(error.shortDescription)"
            }
        case is NIOConnectionError: "the connection was refused or there is no way to the receiver"
        case let error as IOError: "the connection failed: error \(error.errnoCode) of the system"
        default: "the request failed: \(type(of: error))"
        }
    }
}
