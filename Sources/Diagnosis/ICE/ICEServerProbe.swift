// SPDX-License-Identifier: Apache-2.0

internal import Basics
internal import Glibc
internal import NIOCore
internal import NIOPosix
internal import NIOSSL
internal import Platform
internal import Signalling

/// Asks a STUN or TURN server what a call would ask it, over the same transport.
enum ICEServerProbe {
    /// How long one server may take.
    private static let limit = TimeAmount.seconds(4)
    /// How many addresses of a name are asked, one after the other.
    private static let mostAddresses = 3

    /// The finding for a server of the configuration.
    static func run(_ server: DoctorSettings.ICEServer) async -> Finding {
        switch await HostLookup.look(up: server.url.host) {
        case .failed(let reason):
            return HostLookup.finding(server.url.host, purpose: "ICE server", .failed(reason))
        case .found(let addresses):
            // Connections themselves try every address.
            let hosts = server.url.transport == .udp ? Array(addresses.prefix(self.mostAddresses)) : [server.url.host]
            return await self.firstAnswer(server, hosts).finding(server.url)
        }
    }

    /// The first answer of a host; if no host answers, the failure of the first one.
    private static func firstAnswer(
        _ server: DoctorSettings.ICEServer,
        _ hosts: [String]
    ) async -> ICEServerTrial.Outcome {
        var first: ICEServerTrial.Outcome?
        for host in hosts {
            let outcome: ICEServerTrial.Outcome
            do {
                outcome = try await self.ask(server, at: host)
            } catch {
                outcome = .unreachable(NetworkErrorText.words(error))
            }
            switch outcome {
            case .silent, .unreachable: first = first ?? outcome
            default: return outcome
            }
        }
        return first ?? .silent
    }

    private static func ask(_ server: DoctorSettings.ICEServer, at host: String) async throws -> ICEServerTrial.Outcome
    {
        let loop = MultiThreadedEventLoopGroup.singleton.next()
        let outcome = loop.makePromise(of: ICEServerTrial.Outcome.self)
        let deadline = loop.scheduleTask(in: self.limit) { outcome.succeed(.silent) }
        let url = server.url
        let connected: EventLoopFuture<any Channel>
        if url.transport == .udp {
            connected = DatagramBootstrap(group: loop).connect(host: host, port: url.port)
        } else {
            connected = ClientBootstrap(group: loop).connectTimeout(self.limit).connect(host: host, port: url.port)
        }
        let tls = url.transport == .tls ? try NIOSSLContext(configuration: .makeClientConfiguration()) : nil
        // In one step of the event loop: the result of a handshake would be lost before the conversation exists.
        connected.flatMapThrowing { channel in
            let pipeline = channel.pipeline.syncOperations
            if url.transport == .udp { try pipeline.addHandler(DatagramOpener()) }
            if let tls {
                let isAddress = IPAddress(host) != nil
                try pipeline.addHandler(NIOSSLClientHandler(context: tls, serverHostname: isAddress ? nil : host))
            }
            try pipeline.addHandler(ICEServerConversation(server, outcome))
        }.cascadeFailure(to: outcome)
        defer {
            deadline.cancel()
            // A connection that is still being made ends when it is there.
            connected.whenSuccess { $0.close(promise: nil) }
        }
        return try await outcome.futureResult.get()
    }
}

/// Takes what came out of its datagram; whom it came from is known.
private final class DatagramOpener: ChannelInboundHandler {
    typealias InboundIn = AddressedEnvelope<ByteBuffer>
    typealias InboundOut = ByteBuffer

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        context.fireChannelRead(Self.wrapInboundOut(Self.unwrapInboundIn(data).data))
    }
}

/// Carries the words of a trial over one connection, and repeats them where datagrams may be lost.
private final class ICEServerConversation: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    private static let firstRepetition = TimeAmount.milliseconds(300)

    private let outcome: EventLoopPromise<ICEServerTrial.Outcome>
    private let isDatagrams: Bool
    private var trial: ICEServerTrial
    private var request: [UInt8]
    private var repetition: Scheduled<Void>?
    /// Bytes of the next message over a connection.
    private var pending: [UInt8] = []

    init(_ server: DoctorSettings.ICEServer, _ outcome: EventLoopPromise<ICEServerTrial.Outcome>) {
        self.outcome = outcome
        self.isDatagrams = server.url.transport == .udp
        self.trial = ICEServerTrial(
            relays: server.url.kind == .turn,
            username: server.username,
            password: server.credential,
            transaction: Self.transaction()
        )
        self.request = self.trial.firstRequest ?? []
    }

    func handlerAdded(context: ChannelHandlerContext) {
        self.send(context, after: Self.firstRepetition)
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        self.repetition?.cancel()
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let bytes = Array(Self.unwrapInboundIn(data).readableBytesView)
        guard !self.isDatagrams else { return self.take(bytes, context) }
        self.pending += bytes
        while self.pending.count >= STUNMessage.headerLength {
            guard let length = STUNMessage.length(self.pending) else {
                self.outcome.succeed(.strange)
                return context.close(promise: nil)
            }
            guard self.pending.count >= length else { return }
            self.take(Array(self.pending.prefix(length)), context)
            self.pending.removeFirst(length)
        }
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        self.outcome.fail(error)
        context.close(promise: nil)
    }

    func channelInactive(context: ChannelHandlerContext) {
        self.outcome.succeed(.unreachable("the server closed the connection"))
        context.fireChannelInactive()
    }

    private func take(_ bytes: [UInt8], _ context: ChannelHandlerContext) {
        guard let message = STUNMessage(bytes) else { return }
        switch self.trial.received(message, transaction: Self.transaction()) {
        case .wait: break
        case .ask(let request):
            self.request = request
            self.send(context, after: Self.firstRepetition)
        case .end(let outcome, let farewell):
            self.repetition?.cancel()
            if let farewell { self.write(farewell, context) }
            self.outcome.succeed(outcome)
        }
    }

    /// Sends the request, and again while nothing comes; a lost connection is no reason to ask again.
    private func send(_ context: ChannelHandlerContext, after pause: TimeAmount) {
        self.repetition?.cancel()
        self.write(self.request, context)
        guard self.isDatagrams else { return }
        self.repetition = context.eventLoop.assumeIsolated().scheduleTask(in: pause) {
            self.send(context, after: pause * 2)
        }
    }

    private func write(_ bytes: [UInt8], _ context: ChannelHandlerContext) {
        context.writeAndFlush(Self.wrapOutboundOut(ByteBuffer(bytes: bytes)), promise: nil)
    }

    private static func transaction() -> [UInt8] {
        (0..<12).map { _ in UInt8.random(in: .min ... .max) }
    }
}
