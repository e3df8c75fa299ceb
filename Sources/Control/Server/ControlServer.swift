// SPDX-License-Identifier: Apache-2.0

import Glibc
import HTTPTypes
import Hummingbird
import HummingbirdCore
import HummingbirdTLS
public import Logging
import NIOCore
import NIOSSL
public import Observability
import Platform
public import ServiceLifecycle

/// The HTTP interface of the daemon: rooms, recordings, events, figures and the dashboard.
///
/// `run` serves until it is cancelled or asked to stop gracefully: then it takes no more connections, ends event
/// streams, lets other requests finish for `Limits.shutdownTime`, and returns.
public final class ControlServer: Service {
    private let configuration: ControlConfiguration
    private let events: EventHub
    private let gatekeeper: Gatekeeper
    private let responder: ControlResponder
    private let identity: TLSConfiguration?
    private let logger: Logger
    private let onListening: @Sendable (Int) async -> Void

    /// Hears of an answer: what was asked for, the status code, and how long it took to the answer's head.
    public typealias OnAnswer = @Sendable (RouteGroup, Int, Duration) -> Void

    /// A server that is ready to run; throws `ControlServerError`.
    ///
    /// - Parameters:
    ///   - configuration: how it listens, and whom it lets in.
    ///   - backend: what it asks.
    ///   - events: the events of `GET /v1/events`.
    ///   - metrics: the text of `GET /metrics` in a format.
    ///   - logger: where requests and failures are logged.
    ///   - onAnswer: called for each answer when its head is known.
    ///   - onListening: called once with the port that is listened on.
    public convenience init(
        configuration: ControlConfiguration,
        backend: any ControlBackend,
        events: EventHub,
        metrics: @escaping @Sendable (PrometheusFormat) async -> String,
        logger: Logger,
        onAnswer: @escaping OnAnswer = { _, _, _ in },
        onListening: @escaping @Sendable (Int) async -> Void = { _ in }
    ) throws(ControlServerError) {
        let clock = ContinuousClock()
        let origin = clock.now
        try self.init(
            configuration: configuration,
            backend: backend,
            events: events,
            metrics: metrics,
            logger: logger,
            now: { origin.duration(to: clock.now) },
            onAnswer: onAnswer,
            onListening: onListening
        )
    }

    init(
        configuration: ControlConfiguration,
        backend: any ControlBackend,
        events: EventHub,
        metrics: @escaping @Sendable (PrometheusFormat) async -> String,
        logger: Logger,
        now: @escaping @Sendable () -> Duration,
        onAnswer: @escaping OnAnswer = { _, _, _ in },
        onListening: @escaping @Sendable (Int) async -> Void
    ) throws(ControlServerError) {
        guard configuration.isLoopback || !configuration.tokens.isEmpty else {
            throw ControlServerError(
                .tokenRequired,
                "\(configuration.host) can be reached from other hosts: at least one token must be configured."
            )
        }
        self.configuration = configuration
        self.events = events
        self.logger = logger
        self.onListening = onListening
        self.identity = try configuration.tls.map(Self.identity)
        self.gatekeeper = Gatekeeper(
            tokens: configuration.tokens,
            rate: configuration.rate,
            wrongTokens: configuration.wrongTokens
        )
        self.responder = ControlResponder(
            endpoints: Endpoints(
                backend: backend,
                events: events,
                gatekeeper: self.gatekeeper,
                metrics: metrics,
                eventStreams: configuration.limits.eventStreams,
                cookieIsSecure: configuration.tls != nil
            ),
            configuration: configuration,
            logger: logger,
            now: now,
            onAnswer: onAnswer
        )
    }

    /// Puts other tokens in force at once; throws `tokenRequired` if there must be one.
    ///
    /// Browsers that logged in with a token that is gone are logged out.
    public func replaceTokens(_ tokens: [BearerToken]) throws(ControlServerError) {
        guard self.configuration.isLoopback || !tokens.isEmpty else {
            throw ControlServerError(.tokenRequired, "The last token cannot be taken away from a public address.")
        }
        self.gatekeeper.replaceTokens(tokens)
    }

    /// Serves until it is stopped; throws `ControlServerError` if the address cannot be listened on.
    ///
    /// One that is not free is waited for.
    public func run() async throws {
        let application = try self.application()
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await self.listen(application) }
            group.addTask {
                // Ends with the group.
                while !Task.isCancelled {
                    try? await Task.sleep(for: self.configuration.limits.heartbeatInterval)
                    self.events.wakeAll()
                }
            }
            group.addTask {
                try? await gracefulShutdown()
                self.events.endStreams()
                try? await Task.sleep(for: self.configuration.limits.shutdownTime)
                throw CancellationError()
            }
            do {
                try await group.next()
            } catch is CancellationError {
                self.logger.warning("requests were broken off at the stop")
            }
            group.cancelAll()
        }
    }

    /// The application, for `run` and for tests.
    func application() throws(ControlServerError) -> some ApplicationProtocol {
        let limits = self.configuration.limits
        let plain = HTTPServerBuilder.http1(
            configuration: HTTP1Channel.Configuration(
                additionalChannelHandlers: [ConnectionGuard(limits)],
                // After `ConnectionGuard` has answered a request that came too slowly, and the answer has arrived.
                idleTimeout: TimeAmount(limits.requestTime + .seconds(2)),
                httpDecoderConfiguration: .init(
                    maxHeaderFieldSize: limits.headerBytes,
                    maxHeaderListSize: limits.headerBytes,
                    maxHeaderFieldCount: 100
                )
            )
        )
        let builder: HTTPServerBuilder
        do {
            builder = try self.identity.map { try .tls(plain, tlsConfiguration: $0) } ?? plain
        } catch {
            throw ControlServerError(.identity, "The certificate and the key cannot be used together.")
        }
        // The framework logs each start and stop; the relevant part is logged here.
        var quiet = self.logger
        quiet.logLevel = max(self.logger.logLevel, .warning)
        return Application(
            responder: self.responder,
            server: builder,
            configuration: ApplicationConfiguration(
                address: .hostname(self.configuration.host, port: self.configuration.port),
                availableConnectionsDelegate: .maximum(limits.connections, logger: quiet)
            ),
            onServerRunning: { channel in
                await self.onListening(channel.localAddress?.port ?? self.configuration.port)
            },
            logger: quiet
        )
    }

    /// Listens until the end; waits for an address that is not free, as after a restart of the host or the daemon.
    private func listen(_ application: some ApplicationProtocol) async throws {
        let patience = self.configuration.limits.addressPatience
        let deadline = ContinuousClock.now + patience
        var isTold = false
        while true {
            do {
                return try await application.run()
            } catch let error as SocketAddressError {
                guard case .unknown(let host, _) = error else { throw error }
                throw ControlServerError(.listen, "Cannot listen on \(host): no such host name is known.")
            } catch let error as IOError {
                let address = "\(self.configuration.host):\(self.configuration.port)"
                let message = "Cannot listen on \(address): \(NetworkErrorText.words(error))."
                guard [EADDRINUSE, EADDRNOTAVAIL].contains(error.errnoCode) else {
                    let isShort = [EMFILE, ENFILE, ENOBUFS, ENOMEM].contains(error.errnoCode)
                    throw ControlServerError(isShort ? .exhausted : .listen, message)
                }
                guard ContinuousClock.now < deadline else { throw ControlServerError(.addressNotFree, message) }
                if !isTold {
                    self.logger.warning(
                        "nothing is recorded before the address of the API is free",
                        metadata: .tagged([.errorMessage: "\(message)", .detail: "for \(patience)"])
                    )
                }
                isTold = true
            }
            let isEnding = await cancelWhenGracefulShutdown { (try? await Task.sleep(for: Self.retryDelay)) == nil }
            if isEnding { return }
        }
    }

    /// How often an address that is not free is tried.
    private static let retryDelay = Duration.milliseconds(500)

    private static func identity(_ files: ControlConfiguration.TLS) throws(ControlServerError) -> TLSConfiguration {
        do {
            let chain = try NIOSSLCertificate.fromPEMFile(files.certificateFile)
            let key = try NIOSSLPrivateKey(file: files.keyFile, format: .pem)
            var configuration = TLSConfiguration.makeServerConfiguration(
                certificateChain: chain.map { .certificate($0) },
                privateKey: .privateKey(key)
            )
            configuration.minimumTLSVersion = .tlsv12
            return configuration
        } catch {
            throw ControlServerError(
                .identity,
                "\(files.certificateFile) and \(files.keyFile) cannot be used: one of them cannot be read, or is not PEM."
            )
        }
    }
}
