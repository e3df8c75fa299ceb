// SPDX-License-Identifier: Apache-2.0

internal import Basics
internal import GStreamer
public import Logging
public import Model
internal import Observability
internal import Signalling
internal import Synchronization

/// The STUN and TURN servers of one room session: those of its owner, and those that the room's server offers.
public final class ICEServerBook: Sendable {
    /// The limit of libnice for a stream.
    private static let maximumRelays = 8
    private static let lookUpLimit = Duration.seconds(2)
    private static let memory = Duration.seconds(60)

    private let configured: [WebRTCServer]
    private let rules: NetworkSpec
    private let logger: Logger
    private let resolver: HostResolver
    private let state = Mutex(State())

    private struct State {
        var offered: [WebRTCServer] = []
        var addresses: [String: (found: [String], at: ContinuousClock.Instant)] = [:]
        var tunnels: [ICEServerURL: TLSTunnel] = [:]
        /// Messages that are in the log already.
        var said: Set<String> = []
        var isClosed = false
    }

    /// The servers of a session's owner, in the order in which they are tried, and what it allows beyond them.
    public convenience init(
        _ configured: [WebRTCServer] = [],
        rules: NetworkSpec = NetworkSpec(),
        logger: Logger = Logger(label: "ice", factory: { _ in SwiftLogNoOpLogHandler() })
    ) {
        self.init(configured, rules: rules, resolver: .shared, logger: logger)
    }

    init(_ configured: [WebRTCServer], rules: NetworkSpec, resolver: HostResolver, logger: Logger) {
        self.configured = configured
        self.rules = rules
        self.resolver = resolver
        self.logger = logger
    }

    /// Takes the servers that the room's server offers now, instead of those that it offered before.
    func offer(_ servers: [ICEServer]) {
        var taken: [WebRTCServer] = []
        for server in servers.prefix(Self.maximumRelays * 2) {
            for url in server.urls.prefix(Self.maximumRelays) {
                do {
                    let found = try WebRTCServer(url, username: server.username, credential: server.credential)
                    if self.rules.allowsOffered(host: found.url.host) {
                        taken.append(found)
                    } else {
                        self.sayOnce("a server that the room offers for ICE is not allowed", "\(found.url)")
                    }
                } catch {
                    self.sayOnce("a server that the room offers for ICE is not used", error.message, .warning)
                }
            }
        }
        self.state.withLock { $0.offered = Array(taken.prefix(Self.maximumRelays * 2)) }
    }

    /// The servers for a connection that is opened now: names looked up, tunnels open.
    ///
    /// Takes a few seconds at most. A server that is not found is left out and logged.
    func servers() async -> ResolvedServers {
        var resolved = ResolvedServers()
        let all = self.configured + self.state.withLock { $0.offered }
        for server in all where server.url.kind == .stun && resolved.stun == nil {
            // Network address translation is what STUN is for, and IPv4 is where it happens.
            if let address = await self.addresses(of: server).oneOfEachFamily.first {
                resolved.stun = server.text(address: address, port: server.url.port)
            }
        }
        let stun = all.filter { $0.url.kind == .stun }
        if stun.count > 1, resolved.stun != nil {
            self.sayOnce("only the first STUN server that is found is used", "\(stun.count) are named", .info)
        }
        for server in all where server.url.kind == .turn {
            for endpoint in await self.endpoints(of: server) {
                let text = server.text(
                    address: endpoint.address,
                    port: endpoint.port,
                    isTunnelled: server.url.transport == .tls
                )
                guard !resolved.turn.contains(text) else { continue }
                guard resolved.turn.count < Self.maximumRelays else {
                    self.sayOnce("a TURN server is left out", "\(Self.maximumRelays) are used at most", .warning)
                    return resolved
                }
                resolved.turn.append(text)
                resolved.note(server.url, at: endpoint)
            }
        }
        return resolved
    }

    /// Looks up the name in a peer's candidate, where this host can; `body` gets the addresses.
    ///
    /// `body` is called on a thread of Dispatch, within a few seconds, or not at all if nothing is found.
    func lookUp(candidate name: String, _ body: @escaping @Sendable ([String]) -> Void) {
        // Browsers hide their addresses behind such names.
        let isMulticast = name.lowercased().hasSuffix(".local")
        guard !isMulticast || self.resolver.knowsMulticastNames else {
            let advice = "install libnss-mdns and avahi-daemon, or rely on the checks of the peer, which must reach us"
            self.sayOnce("a peer hides its addresses behind multicast names, which this host cannot look up", advice)
            return
        }
        self.resolver.lookUp(name, limit: Self.lookUpLimit) { [weak self] addresses in
            guard addresses.isEmpty else { return body(addresses) }
            let advice = "the checks of the peer must reach us"
            let name = isMulticast ? "a multicast name of a peer" : "a name in a candidate of a peer"
            self?.sayOnce("\(name) is not known on this network", advice)
        }
    }

    /// Ends the tunnels.
    func close() async {
        let tunnels = self.state.withLock { state in
            state.isClosed = true
            defer { state.tunnels.removeAll() }
            return Array(state.tunnels.values)
        }
        for tunnel in tunnels { await tunnel.close() }
    }

    /// Where webrtcbin finds a TURN server: its addresses, or the near ends of the tunnel to it.
    private func endpoints(of server: WebRTCServer) async -> [(address: String, port: Int)] {
        guard server.url.transport == .tls else {
            return await self.addresses(of: server).oneOfEachFamily.map { ($0, server.url.port) }
        }
        if let tunnel = self.state.withLock({ $0.tunnels[server.url] }) { return tunnel.endpoints }
        do {
            let tunnel = try await TLSTunnel.open(to: server.url, logger: self.logger)
            // Two connections may be opened at once; the later tunnel goes.
            let kept = self.state.withLock { state -> TLSTunnel? in
                guard !state.isClosed, state.tunnels[server.url] == nil else { return state.tunnels[server.url] }
                state.tunnels[server.url] = tunnel
                return tunnel
            }
            if kept !== tunnel { await tunnel.close() }
            return kept?.endpoints ?? []
        } catch {
            self.sayOnce("a TURN server is not used", "\(server.url): \(error)", .warning)
            return []
        }
    }

    private func addresses(of server: WebRTCServer) async -> [String] {
        let host = server.url.host
        if IPAddress(host) != nil { return [host] }
        if let known = self.state.withLock({ $0.addresses[host] }), ContinuousClock.now - known.at < Self.memory {
            return known.found
        }
        let found = await self.resolver.addresses(of: host, limit: Self.lookUpLimit)
        guard !found.isEmpty else {
            self.sayOnce("a server for ICE is not found", "\(server.url)", .warning)
            return []
        }
        self.state.withLock { state in
            // A room's server may offer other names for ever.
            state.addresses = state.addresses.filter { ContinuousClock.now - $0.value.at < Self.memory }
            state.addresses[host] = (found, .now)
        }
        return found
    }

    private func sayOnce(_ message: Logger.Message, _ detail: String, _ level: Logger.Level = .notice) {
        // A room's server may offer other names for ever.
        let isNew = self.state.withLock { $0.said.count < 64 && $0.said.insert("\(message) \(detail)").inserted }
        if isNew { self.logger.log(level: level, message, metadata: .tagged([.detail: "\(detail)"])) }
    }
}

/// Servers as webrtcbin takes them.
struct ResolvedServers: Sendable {
    /// `stun://address:port`; it takes one.
    var stun: String?
    /// `turn://user:password@address:port?transport=…`; secrets.
    var turn: [String] = []
    /// The URLs of the servers by address and port, for the log.
    var names: [String: String] = [:]

    /// Servers that share address and port cannot be distinguished afterwards: all are named.
    mutating func note(_ url: ICEServerURL, at endpoint: (address: String, port: Int)) {
        let host = IPAddress.bracketed(endpoint.address)
        let key = "\(host):\(endpoint.port)"
        self.names[key] = self.names[key].map { "\($0) or \(url)" } ?? "\(url)"
    }
}
