// SPDX-License-Identifier: Apache-2.0

import Basics
import ConfigurationFile
import Logging
import Model
import Observability
import Platform
import ServiceLifecycle
import Synchronization

/// Keeps the RTSP server's process running while the configuration wants one, and sends it what the rooms send.
///
/// Rooms say what they send at any time and from any task; the process gets the present list. One that ends, or
/// is silent, is started again, with waits that grow.
final class RTSPKeeper: Service {
    /// Silence after which the process is taken to hang.
    private static let hangLimit = Duration.seconds(15)
    /// How long the process may take to end.
    private static let stopLimit = Duration.seconds(3)
    /// The most rooms of one command: its line stays below what the process reads.
    private static let roomsOfACommand = 64

    private let launcher: WorkerLauncher
    private let logger: Logger
    private let state: Mutex<State>
    private let start = ContinuousClock.now

    private struct State {
        var configuration: RTSPConfiguration?
        var numbers = RTSPRoomNumbers()
        var statuses: [String: RoomStatus] = [:]
        var mailbox: WorkerMailbox?
        var served: RTSPServerSpec?
        /// What the process got last of each room that has something.
        var told: [String: [RTSPMountSpec]] = [:]
        var restart = RestartPolicy(settings: RestartPolicy.Settings())
        var lastHeard = ContinuousClock.now
        var isStopping = false
        /// Something changed while no task waited for it.
        var isWoken = false
        var wake: AsyncStream<Void>.Continuation?

        /// How the configuration wants clients to be served; nil if it does not.
        var order: RTSPServerSpec? { self.configuration.map { RTSPServerSpec($0) } }

        mutating func wakeUp() {
            self.isWoken = true
            self.wake?.yield()
        }
    }

    private let network = UInt8.random(in: 64...250)

    init(configuration: RTSPConfiguration?, launcher: WorkerLauncher, logger: Logger) {
        var state = State()
        state.configuration = configuration
        self.state = Mutex(state)
        self.launcher = launcher
        self.logger = logger
    }

    // MARK: Rooms

    /// What a room's worker must send to the server.
    func outputs(of room: String) -> [OutputSpec] {
        self.state.withLock { state in
            guard let configuration = state.configuration, configuration.serves(room) else { return [] }
            return self.plan(room, configuration, &state)?.outputs ?? []
        }
    }

    /// Takes what a room sends now; nil: nothing.
    func note(_ room: String, _ status: RoomStatus?) {
        self.state.withLock { state in
            state.statuses[room] = state.configuration == nil ? nil : status
            self.tell([room], &state)
        }
    }

    /// Takes that a room is no more.
    func forget(_ room: String) {
        self.note(room, nil)
        self.state.withLock { $0.numbers.forget(room) }
    }

    /// Takes another configuration; clients stay unless it says how they are served.
    func take(_ configuration: RTSPConfiguration?) {
        self.state.withLock { state in
            guard state.configuration != configuration else { return }
            state.configuration = configuration
            if configuration == nil { state.statuses.removeAll() }
            if let served = state.served, served != state.order {
                state.mailbox?.send(RTSPCommand.shutDown)
            }
            state.restart.reset()
            self.tellAll(&state)
            state.wakeUp()
        }
    }

    private func plan(_ room: String, _ configuration: RTSPConfiguration, _ state: inout State) -> RTSPFeedPlan? {
        guard let number = state.numbers.number(of: room) else { return nil }
        return RTSPFeedPlan(
            room: room,
            number: number,
            network: self.network,
            participants: configuration.participants
        )
    }

    /// What clients find of a room.
    private func mounts(of room: String, _ state: inout State) -> [RTSPMountSpec] {
        guard let configuration = state.configuration, configuration.serves(room), let status = state.statuses[room],
            let plan = self.plan(room, configuration, &state)
        else { return [] }
        let users = configuration.users.filter { $0.rooms.isEmpty || $0.rooms.contains(room) }.map(\.name)
        return plan.mounts(status, users: users)
    }

    /// Sends the process those of the rooms that have something else than it knows.
    private func tell(_ rooms: some Sequence<String>, _ state: inout State) {
        guard let mailbox = state.mailbox else { return }
        var news: [String: [RTSPMountSpec]] = [:]
        for room in rooms {
            let mounts = self.mounts(of: room, &state)
            guard mounts != state.told[room, default: []] else { continue }
            state.told[room] = mounts.isEmpty ? nil : mounts
            news[room] = mounts
            guard news.count == Self.roomsOfACommand else { continue }
            mailbox.send(RTSPCommand.mounts(news))
            news = [:]
        }
        if !news.isEmpty { mailbox.send(RTSPCommand.mounts(news)) }
    }

    private func tellAll(_ state: inout State) {
        self.tell(Set(state.statuses.keys).union(state.told.keys).sorted(), &state)
    }

    // MARK: The process

    /// Runs until a graceful shutdown.
    func run() async throws {
        await withTaskGroup(of: Void.self) { group in
            group.addTask { await self.keepServing() }
            group.addTask {
                try? await gracefulShutdown()
                self.state.withLock { state in
                    state.isStopping = true
                    state.mailbox?.send(RTSPCommand.shutDown)
                    state.wakeUp()
                }
                try? await Task.sleep(for: Self.stopLimit)
            }
            await group.next()
            group.cancelAll()
        }
    }

    private func keepServing() async {
        while !Task.isCancelled, !self.state.withLock({ $0.isStopping }) {
            guard let order = self.state.withLock({ $0.order }) else {
                await self.wait(nil)
                continue
            }
            let end = await self.serve(order)
            let delay: Duration? = self.state.withLock { state in
                guard state.order == order, !state.isStopping, !Task.isCancelled else { return nil }
                // At least so long: a port that is in use does not become free at once.
                let delay = state.restart.failed(at: ContinuousClock.now - self.start, random: .random(in: 0...1))
                return max(delay, .seconds(1))
            }
            guard let delay else { continue }
            self.logger.error(
                "RTSP server ended",
                metadata: .tagged([.detail: "\(end); tried again in \(delay.components.seconds) s"])
            )
            await self.wait(delay)
        }
    }

    /// Waits until something changed, or for so long.
    private func wait(_ limit: Duration?) async {
        let (wakes, wake) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
        self.state.withLock { state in
            state.wake = wake
            if state.isWoken { wake.yield() }
        }
        await withTaskGroup(of: Void.self) { group in
            group.addTask { for await _ in wakes { return } }
            if let limit { group.addTask { try? await Task.sleep(for: limit) } }
            await group.next()
            group.cancelAll()
        }
        self.state.withLock { state in
            state.wake = nil
            state.isWoken = false
        }
    }

    /// One life of the process; returns how it ended.
    private func serve(_ order: RTSPServerSpec) async -> String {
        let mailbox = WorkerMailbox()
        mailbox.send(RTSPCommand.serve(order))
        self.state.withLock { state in
            state.mailbox = mailbox
            state.served = order
            state.told = [:]
            state.lastHeard = .now
            self.tellAll(&state)
        }
        let end = await withTaskGroup(of: WorkerLauncher.End?.self) { group in
            group.addTask { await self.launcher.run(mailbox) { self.hear($0, order) } }
            group.addTask {
                await self.watch(mailbox)
                return nil
            }
            var end: WorkerLauncher.End?
            while let next = await group.next() {
                if let next {
                    end = next
                    group.cancelAll()
                }
            }
            return end
        }
        self.state.withLock { state in
            state.mailbox = nil
            state.served = nil
        }
        return end?.reason ?? "ended"
    }

    /// Ends a process that is silent.
    private func watch(_ mailbox: WorkerMailbox) async {
        while (try? await CommonSecond.sleep()) != nil {
            let silence = self.state.withLock { ContinuousClock.now - $0.lastHeard }
            if silence > Self.hangLimit {
                self.logger.error("RTSP server hangs and is ended")
                mailbox.end()
                return
            }
        }
    }

    private func hear(_ line: Result<RTSPEvent, any Error>, _ order: RTSPServerSpec) {
        guard case .success(let event) = line else {
            self.logger.error("RTSP server misbehaved", metadata: .tagged([.detail: "line that cannot be read"]))
            return
        }
        self.state.withLock { $0.lastHeard = .now }
        switch event {
        case .listening(let port):
            self.logger.notice("RTSP server listens", metadata: .tagged([.serverAddress: "\(order.host):\(port)"]))
        case .failed(let reason):
            self.logger.error("RTSP server does not listen", metadata: .tagged([.errorMessage: "\(reason)"]))
        case .notMounted(let path, let reason):
            self.logger.warning("RTSP path not served yet", metadata: .tagged([.detail: "\(path): \(reason)"]))
        case .heartbeat:
            break
        }
    }
}

extension RTSPServerSpec {
    /// What the configuration says of the server.
    init(_ rtsp: RTSPConfiguration) {
        self.init(host: rtsp.host, port: UInt16(clamping: rtsp.port))
        self.users = rtsp.users.map { User(name: $0.name, password: $0.password.value) }
        self.certificate = rtsp.tls?.certificate
        self.key = rtsp.tls?.key
        self.maximumClients = rtsp.maximumClients
    }
}
