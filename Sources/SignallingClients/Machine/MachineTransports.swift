// SPDX-License-Identifier: Apache-2.0

internal import HTTPRequests
internal import NIOSSL
internal import Signalling

/// Connections open during one attempt: one WebSocket, one stream, one XMPP stream, any number of requests.
///
/// Each runs as a child task of the attempt's group, so leaving the attempt means that all of them are closed.
struct MachineTransports {
    private let inbox: MachineInbox
    private let attempt: Int
    private let tls: TLSConfiguration
    private var tlsContext: NIOSSLContext?
    private let connectTimeout: Duration
    /// Requests without an answer that may change something at the server, so that they are worth waiting for at the end.
    private var openRequests: Set<HTTPRequest.ID> = []
    /// The number of the WebSocket opened last; earlier ones are not heard any more.
    private(set) var number: Int
    private(set) var webSocket: WebSocketConnection?
    /// The number of the stream opened last; earlier ones are not heard any more.
    private(set) var streamNumber: Int
    private(set) var stream: StreamConnection?
    /// Whether the stream has a connection.
    private var hasStreamConnection = false
    /// The number of the XMPP stream opened last; earlier ones are not heard any more.
    private(set) var xmppNumber: Int
    private(set) var xmpp: XMPPConnection?
    private let http: HTTPClient

    /// - Parameters:
    ///   - earlier: The transports of the attempt before; their numbers are not used again, and they had the same TLS.
    ///   - tls: For every WebSocket of the attempt that is secure.
    ///   - http: For every request of the attempt.
    init(
        inbox: MachineInbox,
        attempt: Int,
        after earlier: MachineTransports? = nil,
        tls: TLSConfiguration,
        http: HTTPClient,
        connectTimeout: Duration
    ) {
        self.inbox = inbox
        self.attempt = attempt
        self.number = earlier?.number ?? 0
        self.streamNumber = earlier?.streamNumber ?? 0
        self.xmppNumber = earlier?.xmppNumber ?? 0
        self.tls = tls
        self.http = http
        self.tlsContext = earlier?.tlsContext
        self.connectTimeout = connectTimeout
    }

    /// Whether something that was sent may still be under way.
    var isBusy: Bool {
        !self.openRequests.isEmpty || self.webSocket != nil || self.hasStreamConnection || self.xmpp != nil
    }

    /// Opens a WebSocket in place of the one that is open.
    mutating func open(_ request: WebSocketRequest, _ group: inout DiscardingTaskGroup) throws(SignallingError) {
        self.webSocket?.cancel()
        self.number += 1
        let context = request.url.isSecure ? try self.context(for: request.url) : nil
        let webSocket = WebSocketConnection(
            WebSocketConnection.Request(
                host: request.url.host,
                port: request.url.port,
                target: request.url.target,
                headers: request.headers,
                subprotocol: request.subprotocol,
                tls: context,
                connectTimeout: self.connectTimeout,
                address: request.url.address,
                maximumMessageBytes: request.maximumMessageBytes
            )
        )
        self.webSocket = webSocket
        let (inbox, number) = (self.inbox, self.number)
        group.addTask {
            await webSocket.run { inbox.put(.webSocket($0, socket: number)) }
        }
    }

    /// The TLS context that every secure WebSocket of the run shares: making it reads all trusted certificates.
    private mutating func context(for url: WebURL) throws(SignallingError) -> NIOSSLContext {
        if let context = self.tlsContext { return context }
        do {
            let context = try NIOSSLContext(configuration: self.tls)
            self.tlsContext = context
            return context
        } catch {
            throw ConnectionFailure.error(for: error, address: url.address)
        }
    }

    /// Notes that the WebSocket is closed.
    mutating func webSocketClosed() {
        self.webSocket = nil
    }

    /// Opens a stream in place of the one that is open.
    mutating func open(_ request: StreamRequest, _ group: inout DiscardingTaskGroup) {
        self.stream?.cancel()
        self.streamNumber += 1
        self.hasStreamConnection = false
        let stream = StreamConnection(request, connectTimeout: self.connectTimeout)
        self.stream = stream
        let (inbox, number) = (self.inbox, self.streamNumber)
        group.addTask {
            await stream.run { inbox.put(.stream($0, stream: number)) }
        }
    }

    /// Notes what happened on the stream.
    mutating func streamReported(_ event: StreamEvent) {
        switch event {
        case .listening, .received: break
        case .connected: self.hasStreamConnection = true
        case .disconnected: self.hasStreamConnection = false
        case .failed:
            self.hasStreamConnection = false
            self.stream = nil
        }
    }

    /// Opens an XMPP stream in place of the one that is open.
    mutating func open(_ request: XMPPRequest, trusting certificatesFile: String?, _ group: inout DiscardingTaskGroup) {
        self.xmpp?.cancel()
        self.xmppNumber += 1
        let xmpp = XMPPConnection(request, trustedCertificatesFile: certificatesFile)
        self.xmpp = xmpp
        let (inbox, number) = (self.inbox, self.xmppNumber)
        group.addTask {
            await xmpp.run { inbox.put(.xmpp($0, stream: number)) }
        }
    }

    /// Notes that the XMPP stream is closed.
    mutating func xmppClosed() {
        self.xmpp = nil
    }

    /// Sends a request; its answer comes through the inbox.
    mutating func send(_ request: HTTPRequest, _ group: inout DiscardingTaskGroup) {
        // Safe methods (RFC 9110 section 9.2.1), among them long polls, are cut off.
        if request.method != "GET", request.method != "OPTIONS" { self.openRequests.insert(request.id) }
        let (inbox, http, attempt) = (self.inbox, self.http, self.attempt)
        group.addTask {
            inbox.put(.request(request.id, await http.send(request), attempt: attempt))
        }
    }

    /// Notes that a request ended.
    mutating func requestEnded(_ id: HTTPRequest.ID) {
        self.openRequests.remove(id)
    }

    /// Closes everything at once.
    func cancel() {
        self.webSocket?.cancel()
        self.stream?.cancel()
        self.xmpp?.cancel()
    }
}
