// SPDX-License-Identifier: Apache-2.0

import Logging
import Signalling
import SignallingClients

/// A client with its run in a task and the one reader of its events.
struct RunningClient {
    /// As `oneShot`, with time enough for a slow machine.
    static let patient = JoinPolicy(
        connectTimeout: .seconds(60),
        attempts: 5,
        attemptInterval: .seconds(1),
        waitsWhenFull: false
    )

    let client: any Signaller
    let run: Task<SignallingError?, Never>
    private var events: AsyncStream<RoomEvent>.Iterator

    static var logger: Logger { Logger(label: "test") { _ in SwiftLogNoOpLogHandler() } }

    init(_ configuration: SocketIOClient.Configuration, policy: JoinPolicy = Self.patient) {
        var environment = SignallerEnvironment()
        environment.trustedCertificatesFile = configuration.trustedCertificatesFile
        self.init(configuration.address, policy: policy, environment: environment)
    }

    /// A client of a protocol that is a machine.
    init(
        _ address: some RoomAddress,
        policy: JoinPolicy = Self.patient,
        environment: SignallerEnvironment = SignallerEnvironment()
    ) {
        self.init(
            MachineClient(
                address,
                options: SignallingOptions(policy: policy),
                environment: environment,
                logger: Self.logger
            )
        )
    }

    private init(_ client: any Signaller) {
        self.client = client
        self.run = Task {
            do {
                try await client.run()
                return nil
            } catch {
                return error as? SignallingError ?? SignallingError(.refused, "\(error)", blame: .ours)
            }
        }
        self.events = client.events.makeAsyncIterator()
    }

    /// The next event that is neither `ignored` nor a name; nil after the run.
    mutating func next() async -> RoomEvent? {
        while let event = await self.events.next(isolation: #isolation) {
            switch event {
            case .ignored, .peerNamed: continue
            default: return event
            }
        }
        return nil
    }

    /// The next event, `ignored` ones too.
    mutating func nextOfAll() async -> RoomEvent? {
        await self.events.next(isolation: #isolation)
    }

    /// Waits for `joined` and gives our id; attempts that fail before, and all of them, are passed over.
    mutating func joined() async -> PeerID? {
        while let event = await self.next() {
            switch event {
            case .joinFailed, .attemptsSpent: continue
            case .joined(let id, _): return id
            default: return nil
            }
        }
        return nil
    }

    /// Leaves and waits for the end of the run.
    func leave() async -> SignallingError? {
        self.client.send(.leave)
        return await self.run.value
    }
}

/// A Socket.IO room as these tests spell it.
enum SocketIOClient {
    struct Configuration {
        var address: RoomURL.SocketIO
        var trustedCertificatesFile: String?

        init(
            host: String,
            port: Int,
            isSecure: Bool,
            path: String = "/socket.io/",
            room: String,
            transport: EngineIOSessionStateMachine.Transport = .automatic,
            version: EngineIOVersion? = nil,
            dialect: SocketIORoomDialect = SocketIORoomDialect(),
            isInsecure: Bool = false,
            trustedCertificatesFile: String? = nil
        ) {
            self.address = RoomURL.SocketIO(isSecure: isSecure, host: host, port: port, room: room)
            self.address.path = path
            self.address.transport = RoomURL.SocketIO.Transport(rawValue: transport.rawValue) ?? .automatic
            self.address.version =
                version.flatMap { RoomURL.SocketIO.Version(rawValue: "\($0.rawValue)") } ?? .automatic
            self.address.dialect = dialect
            self.address.verifiesCertificate = !isInsecure
            self.trustedCertificatesFile = trustedCertificatesFile
        }

        var host: String {
            get { self.address.host }
            set { self.address.host = newValue }
        }

        var isInsecure: Bool {
            get { !self.address.verifiesCertificate }
            set { self.address.verifiesCertificate = !newValue }
        }
    }
}
