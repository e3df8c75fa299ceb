// SPDX-License-Identifier: Apache-2.0

import Basics
import Catalogue
import ConfigurationFile
import Control
import Glibc
import HTTPRequests
import NIOCore
import NIOPosix

/// Makes the attempts of one webhook, one at a time.
///
/// The receiver's name is resolved before each attempt, the address checked, and the connection made to that very
/// address, so that a name that changes between the check and the connection changes nothing.
struct WebhookSender {
    /// What came of an attempt.
    enum Outcome: Sendable, Hashable {
        /// The receiver has it.
        case delivered
        /// The receiver wants it no more (410).
        case gone
        /// It must be tried again; why, one sentence without anything secret, and the least wait that the receiver asked for.
        case failed(String, wait: Duration = .zero)
        /// The task was cancelled; nothing is known.
        case cancelled
    }

    /// Turns a name and a port into an address to connect to.
    typealias Resolver = @Sendable (String, Int) async throws -> SocketAddress

    /// Limit of an attempt from the connection to the head of the answer.
    static let timeLimit = Duration.seconds(10)

    private let resolve: Resolver
    private let timeLimit: Duration

    /// - Parameter resolve: For tests, another way than the system's.
    init(resolve: @escaping Resolver = Self.systemResolver, timeLimit: Duration = Self.timeLimit) {
        self.resolve = resolve
        self.timeLimit = timeLimit
    }

    /// Asks the system, on separate threads: `getaddrinfo` blocks, as long as `/etc/resolv.conf` lets it.
    static let systemResolver: Resolver = { host, port in
        try await Self.resolverThreads.runIfActive {
            try SocketAddress.makeAddressResolvingHost(host, port: port)
        }
    }

    /// A name server that is down holds up no reader of files.
    private static let resolverThreads = NIOThreadPool.started(4)

    /// Sends a delivery once.
    func attempt(
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
        let request = Self.request(
            delivery,
            to: target,
            at: address,
            secret: webhook.secret.value,
            now: now,
            timeLimit: self.timeLimit
        )
        do throws(HTTPClient.Failure) {
            let answer = try await HTTPClient(connectTimeout: self.timeLimit).send(request)
            return Self.outcome(answer, now: now)
        } catch {
            return error == .cancelled ? .cancelled : .failed(Self.sentence(error))
        }
    }

    private static func request(
        _ delivery: DeliveryEntry,
        to target: TargetURL,
        at address: SocketAddress,
        secret: String,
        now: UTCTime,
        timeLimit: Duration
    ) -> HTTPClient.Request {
        let timestamp = String(now.nanosecondsSince1970 / 1_000_000_000)
        var request = HTTPClient.Request("POST", target.text)
        let headers = [
            ("Content-Type", "application/json"), ("Tapedeck-Event", delivery.event),
            ("Tapedeck-Delivery", delivery.id), ("Tapedeck-Timestamp", timestamp),
            (
                "Tapedeck-Signature",
                WebhookSignature.header(secret: secret, timestamp: timestamp, body: delivery.body)
            ),
        ]
        request.headers = headers.map { HTTPClient.Header($0.0, $0.1) }
        request.body = [UInt8](delivery.body)
        request.timeout = timeLimit
        request.readsBody = false
        request.address = address.ipAddress.map { IPAddress.bracketed($0) }
        return request
    }

    private static func outcome(_ answer: HTTPClient.Answer, now: UTCTime) -> Outcome {
        let status = answer.status
        return switch status {
        case 200..<300: .delivered
        case 410: .gone
        case 300..<400: .failed("the receiver answered \(status); redirects are not followed")
        default:
            .failed(
                "the receiver answered \(status)",
                wait: answer.headers.first { $0.name.lowercased() == "retry-after" }
                    .map { Self.askedWait($0.value, now: now) } ?? .zero
            )
        }
    }

    /// What `Retry-After` asks for (RFC 9110 section 10.2.3), in seconds or as a time; zero for anything else.
    static func askedWait(_ text: String, now: UTCTime) -> Duration {
        if let date = HTTPDate(text) {
            return .seconds(date.seconds) - .nanoseconds(now.nanosecondsSince1970)
        }
        // More than a day is as good as a day, whatever the number is.
        guard !text.isEmpty, text.utf8.allSatisfy({ (0x30...0x39).contains($0) }) else { return .zero }
        return .seconds(min(Int(text) ?? .max, 86_400))
    }

    /// What is known to hold neither the URL nor the answer's text.
    private static func sentence(_ error: HTTPClient.Failure) -> String {
        switch error {
        case .timedOut: "the receiver did not answer in time"
        case .notConnected(let number) where number != 0: "the connection failed: \(String(cString: strerror(number)))"
        case .notConnected, .nameNotFound: "the connection was refused or there is no way to the receiver"
        case .closedWithoutAnswer: "the receiver closed the connection without an answer"
        case .tls(let words), .other(let words): "the request failed: \(words)"
        case .malformedRequest(let part): "the request cannot be sent: \(part)"
        case .tooLarge, .cancelled: "the request failed"
        }
    }
}
