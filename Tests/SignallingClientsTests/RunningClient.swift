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

    let client: SocketIOClient
    let run: Task<SignallingError?, Never>
    private var events: AsyncStream<RoomEvent>.Iterator

    init(_ configuration: SocketIOClient.Configuration, policy: JoinPolicy = Self.patient) {
        let client = SocketIOClient(
            configuration: configuration,
            policy: policy,
            logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        )
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

    /// The next event that is not `ignored`; nil after the run.
    mutating func next() async -> RoomEvent? {
        while let event = await self.events.next(isolation: #isolation) {
            if case .ignored = event { continue }
            return event
        }
        return nil
    }

    /// The next event, `ignored` ones too.
    mutating func nextOfAll() async -> RoomEvent? {
        await self.events.next(isolation: #isolation)
    }

    /// Waits for `joined` and gives our id; attempts that fail before are passed over.
    mutating func joined() async -> PeerID? {
        while let event = await self.next() {
            switch event {
            case .joinFailed: continue
            case .joined(let id): return id
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
