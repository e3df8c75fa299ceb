// SPDX-License-Identifier: Apache-2.0

internal import Glibc
internal import Synchronization

/// Sends HTTP/1.1 requests by libcurl.
///
/// Redirects are not followed, bodies are not decompressed, and proxies of the environment are not used: a request goes to
/// where its URL points. All clients of a lane share one thread and a few idle connections.
public struct HTTPClient: Sendable, Hashable {
    /// The content of a request.
    public struct Request: Sendable, Hashable {
        /// The method, for example `PATCH`.
        public var method: String
        /// An absolute http or https URL.
        public var url: String
        /// Headers in order; `Host`, `User-Agent` and the length are added.
        public var headers: [Header] = []
        /// The body; nil sends none.
        public var body: [UInt8]?
        /// Limit from the first step of the connection to the last byte of the answer.
        public var timeout: Duration = .seconds(10)
        /// An answer with a larger body is a failure.
        public var maximumBodyBytes = 1 << 20
        /// Whether the body of the answer is wanted; its first byte closes the connection otherwise.
        public var readsBody = true
        /// An address to connect to instead of the URL's host, in the form of a URL: IPv6 in brackets.
        public var address: String?
        /// Whether the server may carry it out twice.
        ///
        /// The request then uses a kept connection, and libcurl sends it again if the server has closed that. By default true
        /// for idempotent methods (RFC 9110 section 9.2.2).
        public var isRepeatable: Bool

        /// A request without headers and body.
        public init(_ method: String, _ url: String) {
            self.method = method
            self.url = url
            self.isRepeatable = ["DELETE", "GET", "HEAD", "OPTIONS", "PUT"].contains(method)
        }
    }

    /// A header of a request or of an answer.
    public struct Header: Sendable, Hashable {
        /// Its name; case does not count.
        public var name: String
        /// Its value, without spaces around it.
        public var value: String

        /// A header with a name and a value.
        public init(_ name: String, _ value: String) {
            self.name = name
            self.value = value
        }
    }

    /// A client's certificate and its key; libcurl reads the files at each connection.
    public struct Identity: Sendable, Hashable {
        /// A PEM file of the certificate, and of those that lead to its authority.
        public var certificateFile: String
        /// A PEM file of its private key, without a password.
        public var keyFile: String

        /// A certificate and its key.
        public init(certificateFile: String, keyFile: String) {
            self.certificateFile = certificateFile
            self.keyFile = keyFile
        }
    }

    /// Requests that share a thread and a few idle connections: none of them waits for a request of another lane.
    public struct Lane: Sendable, Hashable {
        /// The lane of all clients that name no other.
        public static let shared = Lane("http")

        let loop: TransferLoop

        /// A new lane; its thread has this name, at most 15 bytes.
        public init(_ name: String) {
            self.loop = TransferLoop(name)
        }

        /// Whether it is the same one.
        public static func == (left: Self, right: Self) -> Bool { left.loop === right.loop }

        /// Hashes which one it is.
        public func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self.loop)) }
    }

    /// The answer, whatever its status.
    public struct Answer: Sendable, Hashable {
        /// 200 to 599.
        public var status: Int
        /// Headers in the order in which they came.
        public var headers: [Header]
        /// The body; empty if it was not wanted.
        public var body: [UInt8]
    }

    /// Why there is no answer.
    public enum Failure: Error, Sendable, Hashable {
        /// A part of the request that cannot be sent.
        case malformedRequest(String)
        /// The host has no address.
        case nameNotFound
        /// The system's reason why there is no connection, as `errno`.
        case notConnected(Int32)
        /// The certificate is not valid, or there is no TLS at all; why, in libcurl's words.
        case tls(String)
        /// A limit was reached.
        case timedOut
        /// The server closed the connection instead of answering.
        case closedWithoutAnswer
        /// The answer has a larger body, or larger headers, than is taken.
        case tooLarge
        /// The task was cancelled.
        case cancelled
        /// Something else; what, in libcurl's words.
        case other(String)

        /// The reason in plain words, to follow the name of the server.
        public var reason: String {
            switch self {
            case .malformedRequest(let part): "the request cannot be sent: \(part)"
            case .nameNotFound: "there is no host of that name"
            case .notConnected(0): "there is no way to it"
            case .notConnected(let number): String(cString: strerror(number))
            case .timedOut: "it does not answer in time"
            case .closedWithoutAnswer: "it closes the connection without an answer"
            case .tooLarge: "its answer is too large"
            case .cancelled: "the request was cancelled"
            case .tls(let words), .other(let words): words
            }
        }
    }

    /// Whether any certificate is taken.
    public var isInsecure: Bool
    /// A PEM file of certificates that are trusted in addition to the system's.
    public var trustedCertificatesFile: String?
    /// The client's certificate for servers that ask for one (mutual TLS).
    public var identity: Identity?
    /// Limit of a connection, TLS included.
    public var connectTimeout: Duration
    /// The lane of its requests.
    public var lane: Lane

    /// A client; nothing is open before its first request.
    public init(
        isInsecure: Bool = false,
        trustedCertificatesFile: String? = nil,
        identity: Identity? = nil,
        connectTimeout: Duration = .seconds(10),
        lane: Lane = .shared
    ) {
        self.isInsecure = isInsecure
        self.trustedCertificatesFile = trustedCertificatesFile
        self.identity = identity
        self.connectTimeout = connectTimeout
        self.lane = lane
    }

    /// Sends a request and takes its answer, whatever its status.
    ///
    /// Cancelling the task ends it at once.
    public func send(_ request: Request) async throws(Failure) -> Answer {
        try await self.run(TransferOrder(request: request, client: self, onBytes: nil))
    }

    /// Sends a request whose answer may not end, such as a stream of events.
    ///
    /// Returns when the server has ended the answer. The limit of time is one of silence here, from any byte to the next.
    ///
    /// - Parameter onBytes: takes the body of an answer of success piece by piece, on the thread of all requests of the
    ///   lane: while it does not return, none of them continues. The body of any other answer is part of the result.
    public func follow(
        _ request: Request,
        onBytes: @escaping @Sendable (UnsafeRawBufferPointer) -> Void
    ) async throws(Failure) -> Answer {
        try await self.run(TransferOrder(request: request, client: self, onBytes: onBytes))
    }

    private func run(_ order: TransferOrder) async throws(Failure) -> Answer {
        return try await withTaskCancellationHandler {
            await withCheckedContinuation { self.lane.loop.begin(order, $0) }
        } onCancel: {
            order.isCancelled.store(true, ordering: .releasing)
            self.lane.loop.wake()
        }.get()
    }
}

/// One request on its way to the thread.
final class TransferOrder: Sendable {
    let request: HTTPClient.Request
    let client: HTTPClient
    /// Takes the body of a success as it comes; nil gathers it.
    let onBytes: (@Sendable (UnsafeRawBufferPointer) -> Void)?
    let isCancelled = Atomic(false)

    init(
        request: HTTPClient.Request,
        client: HTTPClient,
        onBytes: (@Sendable (UnsafeRawBufferPointer) -> Void)?
    ) {
        self.request = request
        self.client = client
        self.onBytes = onBytes
    }
}
