// SPDX-License-Identifier: Apache-2.0

internal import AsyncHTTPClient
internal import NIOCore
internal import NIOHTTP1
internal import NIOPosix
internal import NIOSSL
internal import Signalling

/// The requests of one polling session.
///
/// Each call is one request; the task's cancellation ends it.
struct PollingTransport: Sendable {
    /// What came of a request.
    enum Outcome: Sendable {
        /// An answer, whatever its status.
        case answered(status: Int, body: [UInt8], cookies: [String])
        /// The body is larger than `EngineIOLimits.maximumPayloadBytes`.
        case oversize
        /// No answer.
        case failed(SignallingError)
    }

    /// The server, for messages.
    let address: String
    private let client: HTTPClient

    /// - Parameter tls: nil speaks plain HTTP.
    init(address: String, tls: TLSConfiguration?, connectTimeout: Duration) {
        var configuration = HTTPClient.Configuration(tlsConfiguration: tls)
        configuration.timeout.connect = TimeAmount(connectTimeout)
        // One request is not repeated behind our back: attempts are ours to count.
        configuration.connectionPool.retryConnectionEstablishment = false
        configuration.redirectConfiguration = .disallow
        configuration.httpVersion = .http1Only
        configuration.decompression = .disabled
        self.address = address
        self.client = HTTPClient(
            eventLoopGroupProvider: .shared(MultiThreadedEventLoopGroup.singleton),
            configuration: configuration
        )
    }

    /// Sends a GET, or a POST if there is a body, and takes the answer.
    func request(url: String, body: String?, cookie: String?, timeout: Duration) async -> Outcome {
        var request = HTTPClientRequest(url: url)
        request.headers.add(name: "User-Agent", value: "tapedeck")
        request.headers.add(name: "Accept", value: "*/*")
        if let cookie { request.headers.add(name: "Cookie", value: cookie) }
        if let body {
            request.method = .POST
            request.headers.add(name: "Content-Type", value: "text/plain;charset=UTF-8")
            request.body = .bytes(ByteBuffer(string: body))
        }
        do {
            let response = try await self.client.execute(request, timeout: TimeAmount(timeout))
            let buffer = try await response.body.collect(upTo: EngineIOLimits.maximumPayloadBytes)
            return .answered(
                status: Int(response.status.code),
                body: [UInt8](buffer.readableBytesView),
                cookies: response.headers["Set-Cookie"]
            )
        } catch is NIOTooManyBytesError {
            return .oversize
        } catch {
            return .failed(ConnectionFailure.error(for: error, address: self.address))
        }
    }

    /// Closes every connection.
    ///
    /// Once, after the last request.
    func shutdown() async throws {
        try await self.client.shutdown()
    }
}
