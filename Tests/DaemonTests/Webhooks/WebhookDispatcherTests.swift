// SPDX-License-Identifier: Apache-2.0

import Basics
import Catalogue
import Dispatch
import FoundationEssentials
import Model
import NIOCore
import NIOHTTP1
import NIOPosix
import Observability
import Platform
import Storage
import Synchronization
import Testing

@testable import Daemon

@Suite(.timeLimit(.minutes(5))) struct WebhookDispatcherTests {
    private let fixture: Fixture

    init() throws {
        self.fixture = try Fixture()
    }

    private func first(_ sink: WebhookSink, _ count: Int = 1) async -> [WebhookSink.Request] {
        var requests: [WebhookSink.Request] = []
        for await request in sink.requests {
            requests.append(request)
            if requests.count == count { break }
        }
        return requests
    }

    @Test func postsASignedEvent() async throws {
        let sink = try await WebhookSink()
        let dispatcher = self.fixture.dispatcher(Fixture.configuration([sink.url + "?room=1"]))
        let request = try await dispatcher.running {
            dispatcher.dispatch(Fixture.event(7))
            await self.fixture.log.wait(for: "webhook delivered")
            return try #require(await self.first(sink).first)
        }
        #expect(request.path == "/hook?room=1")
        #expect(try JSONDecoder().decode(DaemonEvent.self, from: Data(request.body)) == Fixture.event(7))
        #expect(request.headers["content-type"] == ["application/json"])
        #expect(request.headers["tapedeck-event"] == ["recording.finished"])
        #expect(request.headers["tapedeck-delivery"].first?.count == 36)
        let timestamp = try #require(request.headers["tapedeck-timestamp"].first)
        let signature = try #require(request.headers["tapedeck-signature"].first)
        let code = try #require(signature.hasPrefix("v1=") ? Self.bytes(signature.dropFirst(3)) : nil)
        let signed = Array("\(timestamp).".utf8) + request.body
        #expect(code == MessageAuthentication.sha256(signed, key: Array("hush-hush".utf8)))
        let status = try #require(try await dispatcher.status().first)
        #expect(status.counters.delivered == 1 && status.counters.failedAttempts == 0)
        #expect(status.deliveries == DeliveryCounts())
        try await sink.close()
    }

    private static func bytes(_ digits: Substring) -> [UInt8]? {
        let characters = Array(digits)
        guard characters.count == 64 else { return nil }
        return stride(from: 0, to: 64, by: 2).compactMap { UInt8(String(characters[$0...($0 + 1)]), radix: 16) }
    }

    @Test func triesAgainUnderTheSameID() async throws {
        let sink = try await WebhookSink([.status(500), .hangUp, .status(429), .status(404), .status(202)])
        let dispatcher = self.fixture.dispatcher(Fixture.configuration([sink.url]))
        let requests = try await dispatcher.running {
            dispatcher.dispatch(Fixture.event())
            await self.fixture.log.wait(for: "webhook delivered")
            return await self.first(sink, 5)
        }
        #expect(Set(requests.map { $0.headers["tapedeck-delivery"] }).count == 1)
        #expect(Set(requests.map(\.body)).count == 1)
        let counters = try await dispatcher.status().first?.counters
        #expect(counters == WebhookStatus.Counters(delivered: 1, failedAttempts: 4))
        try await sink.close()
    }

    @Test func givesUpAfterALifetime() async throws {
        let sink = try await WebhookSink([.status(503)])
        let schedule = RetrySchedule(first: .milliseconds(5), longest: .milliseconds(5), lifetime: .milliseconds(40))
        let dispatcher = self.fixture.dispatcher(Fixture.configuration([sink.url]), schedule: schedule)
        try await dispatcher.running {
            dispatcher.dispatch(Fixture.event())
            await self.fixture.log.wait(for: "webhook delivery failed for good")
        }
        let dead = try await dispatcher.deadLetters()
        #expect(dead.map(\.error) == ["the receiver answered 503"])
        #expect(try await dispatcher.status().map(\.counters.givenUp) == [1])
        try await sink.close()
    }

    @Test func stopsAt410AndTriesAgainWhenTold() async throws {
        let sink = try await WebhookSink([.status(410), .status(200)])
        let dispatcher = self.fixture.dispatcher(Fixture.configuration([sink.url]))
        try await dispatcher.running {
            dispatcher.dispatch(Fixture.event())
            await self.fixture.log.wait(for: "webhook delivery failed for good")
            let dead = try #require(try await dispatcher.deadLetters().first)
            #expect(dead.attempts == 1)
            #expect(try await dispatcher.status().map(\.deliveries.dead) == [1])
            // Another daemon finds it in the catalogue, and gave up nothing itself.
            let counters = try #require(try await dispatcher.status().first?.counters)
            #expect(counters.attempts(since: WebhookStatus.Counters()) == [.delivered: 0, .retried: 0, .dead: 1])
            try await dispatcher.requeue(dead.id)
            await self.fixture.log.wait(for: "webhook delivered")
            #expect(try await dispatcher.deadLetters().isEmpty)
            await #expect { try await dispatcher.requeue(dead.id) } throws: {
                ($0 as? CatalogueError)?.code == .notFound
            }
        }
        try await sink.close()
    }

    @Test func followsNoRedirect() async throws {
        let elsewhere = try await WebhookSink()
        let sink = try await WebhookSink([.status(307, headers: ["Location": elsewhere.url]), .status(200)])
        let dispatcher = self.fixture.dispatcher(Fixture.configuration([sink.url]))
        try await dispatcher.running {
            dispatcher.dispatch(Fixture.event())
            await self.fixture.log.wait(for: "webhook delivered")
        }
        #expect(self.fixture.log.all.contains { $0.contains("307; redirects are not followed") })
        try await elsewhere.close()
        #expect(try await dispatcher.status().first?.counters.failedAttempts == 1)
        try await sink.close()
    }

    @Test func aSlowReceiverHoldsUpNobodyElse() async throws {
        let slow = try await WebhookSink([.silence])
        let quick = try await WebhookSink()
        let dispatcher = self.fixture.dispatcher(
            Fixture.configuration([slow.url, quick.url]),
            timeLimit: .seconds(600)
        )
        try await dispatcher.running {
            dispatcher.dispatch(Fixture.event(1))
            _ = await self.first(slow)
            for sequence in 2...20 { dispatcher.dispatch(Fixture.event(UInt64(sequence))) }
            let bodies = await self.first(quick, 20).map(\.body)
            let sequences = try bodies.map { try JSONDecoder().decode(DaemonEvent.self, from: Data($0)).sequence }
            #expect(sequences == Array(1...20))
        }
        try await slow.close()
        try await quick.close()
    }

    @Test func doesNotWaitForEverForAnAnswer() async throws {
        let sink = try await WebhookSink([.silence, .status(200)])
        let dispatcher = self.fixture.dispatcher(Fixture.configuration([sink.url]), timeLimit: .milliseconds(200))
        try await dispatcher.running {
            dispatcher.dispatch(Fixture.event())
            await self.fixture.log.wait(for: "webhook delivered")
        }
        #expect(self.fixture.log.all.contains { $0.contains("did not answer in time") })
        try await sink.close()
    }

    @Test func readsNoMoreOfTheAnswerThanItsHead() async throws {
        let sink = try await WebhookSink([.status(200, body: String(repeating: "x", count: 8 << 20)), .status(200)])
        let dispatcher = self.fixture.dispatcher(Fixture.configuration([sink.url]))
        try await dispatcher.running {
            dispatcher.dispatch(Fixture.event(1))
            dispatcher.dispatch(Fixture.event(2))
            await self.fixture.log.wait(for: "webhook delivered", count: 2)
        }
        try await sink.close()
    }

    @Test func keepsDeliveriesAcrossARestart() async throws {
        let sink = try await WebhookSink([.status(503), .status(200)])
        let configuration = Fixture.configuration([sink.url])
        let before = self.fixture.dispatcher(configuration, schedule: RetrySchedule(first: .seconds(600)))
        try await before.running {
            before.dispatch(Fixture.event(3))
            await self.fixture.log.wait(for: "webhook delivery failed")
        }
        #expect(try await before.status().map(\.deliveries.queued) == [1])
        // An hour later, so that the delivery is due.
        let after = self.fixture.dispatcher(configuration, now: { UTCTime.now().adding(.seconds(3600)) })
        try await after.running { await self.fixture.log.wait(for: "webhook delivered") }
        let requests = await self.first(sink, 2)
        #expect(requests.map { $0.headers["tapedeck-delivery"] }.first == requests.last?.headers["tapedeck-delivery"])
        try await sink.close()
    }

    /// The first attempt failed on a day that has not come yet.
    @Test func aClockThatIsSetBackHoldsNothingUp() async throws {
        let sink = try await WebhookSink([.status(503), .status(200), .status(200)])
        let ahead = Mutex(Duration.seconds(86_400))
        let dispatcher = self.fixture.dispatcher(
            Fixture.configuration([sink.url]),
            schedule: RetrySchedule(),
            now: { UTCTime.now().adding(ahead.withLock { $0 }) }
        )
        try await dispatcher.running {
            dispatcher.dispatch(Fixture.event(1))
            await self.fixture.log.wait(for: "webhook delivery failed")
            ahead.withLock { $0 = .zero }
            dispatcher.dispatch(Fixture.event(2))
            await self.fixture.log.wait(for: "webhook delivered", count: 2)
        }
        try await sink.close()
    }

    /// Neither the delivery that it refused nor another one comes before.
    @Test func aReceiverIsLeftAloneForAsLongAsItAsks() async throws {
        let sink = try await WebhookSink([.status(429, headers: ["Retry-After": "120"]), .status(200)])
        let start = UTCTime.now()
        let passed = Mutex(Duration.zero)
        let dispatcher = self.fixture.dispatcher(
            Fixture.configuration([sink.url]),
            schedule: RetrySchedule(first: .milliseconds(10)),
            now: { start.adding(passed.withLock { $0 }) }
        )
        let requests = try await dispatcher.running {
            dispatcher.dispatch(Fixture.event(1))
            await self.fixture.log.wait(for: "webhook delivery failed")
            passed.withLock { $0 = .seconds(119) }
            dispatcher.dispatch(Fixture.event(2))
            while try await dispatcher.status().first?.deliveries.queued != 2 { await Task.yield() }
            passed.withLock { $0 = .seconds(121) }
            dispatcher.dispatch(Fixture.event(3))
            return await self.first(sink, 4)
        }
        let times = requests.compactMap { $0.headers["tapedeck-timestamp"].first.flatMap { Int64($0) } }
        let first = start.nanosecondsSince1970 / 1_000_000_000
        #expect(times.count == 4 && times.first == first && times.dropFirst().allSatisfy { $0 >= first + 121 })
        try await sink.close()
    }

    @Test func storesWhatWasDispatchedBeforeTheEnd() async throws {
        let dispatcher = self.fixture.dispatcher(Fixture.configuration(["https://receiver.invalid/"]))
        dispatcher.dispatch(Fixture.event())
        dispatcher.shutdown()
        await dispatcher.run()
        #expect(try await dispatcher.status().map(\.deliveries.queued) == [1])
    }

    @Test func dropsTheOldestWhenTooManyWait() async throws {
        let dispatcher = self.fixture.dispatcher(Fixture.configuration(["https://receiver.invalid/"]), limit: 3)
        for sequence in 1...10 { dispatcher.dispatch(Fixture.event(UInt64(sequence))) }
        dispatcher.shutdown()
        await dispatcher.run()
        let status = try #require(try await dispatcher.status().first)
        #expect(status.counters.dropped == 7)
        #expect(status.deliveries.queued == 3)
        let due = try #require(try await self.fixture.catalogue.dueDelivery(of: status.key, now: .now()))
        #expect(try JSONDecoder().decode(DaemonEvent.self, from: Data(due.body)).sequence == 8)
    }

    @Test func boundsWhatIsNotStoredYet() async throws {
        let dispatcher = self.fixture.dispatcher(Fixture.configuration(["https://receiver.invalid/"]))
        for sequence in 1...5000 { dispatcher.dispatch(Fixture.event(UInt64(sequence))) }
        #expect(try await dispatcher.status().first?.counters.dropped == 5000 - WebhookDispatcher.maximumPending)
    }

    @Test func sendsOnlyWhatIsWanted() async throws {
        let sink = try await WebhookSink()
        let dispatcher = self.fixture.dispatcher(
            Fixture.configuration([sink.url], events: ["recording.*", "disk.low"])
        )
        let kinds = try await dispatcher.running {
            for (number, kind) in [DaemonEvent.Kind.roomJoined, .recordingStarted, .diskRecovered, .diskLow]
                .enumerated()
            {
                dispatcher.dispatch(Fixture.event(UInt64(number + 1), kind))
            }
            return await self.first(sink, 2).flatMap { $0.headers["tapedeck-event"] }
        }
        #expect(kinds == ["recording.started", "disk.low"])
        #expect(try await dispatcher.status().first?.deliveries.dead == 0)
        try await sink.close()
    }

    @Test func takesANewConfiguration() async throws {
        let old = try await WebhookSink()
        let new = try await WebhookSink()
        let dispatcher = self.fixture.dispatcher(Fixture.configuration([old.url, "https://receiver.invalid/"]))
        try await dispatcher.running {
            dispatcher.dispatch(Fixture.event(1))
            _ = await self.first(old)
            dispatcher.update(Fixture.configuration([new.url]))
            dispatcher.dispatch(Fixture.event(2))
            let request = try #require(await self.first(new).first)
            #expect(try JSONDecoder().decode(DaemonEvent.self, from: Data(request.body)).sequence == 2)
        }
        #expect(try await dispatcher.status().count == 1)
        #expect(try await self.fixture.catalogue.deliveryCounts().count <= 1)
        try await old.close()
        try await new.close()
    }

    enum Removal: CaseIterable {
        case alone, takenBackAtOnce
    }

    /// The next attempt would be made in ten minutes.
    @Test(arguments: Removal.allCases)
    func aWebhookThatIsGoneLosesWhatWaits(_ removal: Removal) async throws {
        let sink = try await WebhookSink([.status(503)])
        let configuration = Fixture.configuration([sink.url])
        let dispatcher = self.fixture.dispatcher(configuration, schedule: RetrySchedule(first: .seconds(600)))
        try await dispatcher.running {
            dispatcher.dispatch(Fixture.event())
            await self.fixture.log.wait(for: "webhook delivery failed")
            #expect(try await self.fixture.catalogue.deliveryCounts().count == 1)
            dispatcher.update(Fixture.configuration([]))
            if removal == .takenBackAtOnce { dispatcher.update(configuration) }
            while try await !self.fixture.catalogue.deliveryCounts().isEmpty {
                try await Task.sleep(for: .milliseconds(10))
            }
        }
        try await sink.close()
    }

    @Test func twoWebhooksOfOneURLAreTwo() async throws {
        let sink = try await WebhookSink()
        let dispatcher = self.fixture.dispatcher(Fixture.configuration([sink.url, sink.url]))
        try await dispatcher.running {
            dispatcher.dispatch(Fixture.event())
            let ids = await self.first(sink, 2).flatMap { $0.headers["tapedeck-delivery"] }
            #expect(Set(ids).count == 2)
        }
        try await sink.close()
    }

    @Test func connectsToTheAddressThatWasChecked() async throws {
        let sink = try await WebhookSink()
        let url = "http://hooks.example.org:\(sink.port)/x"
        let dispatcher = self.fixture.dispatcher(
            Fixture.configuration([url], allowedHosts: ["hooks.example.org"]),
            resolve: { _, port in try SocketAddress(ipAddress: "127.0.0.1", port: port) }
        )
        let request = try await dispatcher.running {
            dispatcher.dispatch(Fixture.event())
            return try #require(await self.first(sink).first)
        }
        #expect(request.headers["host"] == ["hooks.example.org:\(sink.port)"])
        try await sink.close()
    }

    /// Whoever reads files would wait for a name server that is down.
    @Test func namesAreLookedUpOnThreadsOfTheirOwn() async throws {
        let gate = DispatchSemaphore(value: 0)
        let files = NIOThreadPool.singleton
        let count = files.numberOfThreads
        for _ in 0..<count { files.submit { _ in gate.wait() } }
        let alarm = Task {
            try await Task.sleep(for: .seconds(60))
            for _ in 0..<count { gate.signal() }
        }
        let address = try await WebhookSender.systemResolver("127.0.0.1", 80)
        #expect(address.port == 80)
        alarm.cancel()
        await #expect(throws: CancellationError.self, "it waited for the others' threads") { try await alarm.value }
        for _ in 0..<count { gate.signal() }
    }

    @Test(arguments: ["127.0.0.1", "10.1.2.3", "169.254.169.254", "::1", "fe80::1", "::ffff:192.168.0.1"])
    func refusesNamesOfPrivateAddresses(address: String) async throws {
        let dispatcher = self.fixture.dispatcher(
            Fixture.configuration(["https://hooks.example.org/x"]),
            resolve: { _, port in try SocketAddress(ipAddress: address, port: port) }
        )
        try await dispatcher.running {
            dispatcher.dispatch(Fixture.event())
            await self.fixture.log.wait(for: "refused: its name stands for an address of a private network")
        }
    }

    @Test func tellsNothingSecret() async throws {
        let sink = try await WebhookSink([.status(500, body: "token-in-answer"), .hangUp, .status(410)])
        let dispatcher = self.fixture.dispatcher(
            Fixture.configuration([sink.url + "/path-token?query-token", "http://somebody:password@127.0.0.1:1/"])
        )
        try await dispatcher.running {
            dispatcher.dispatch(Fixture.event())
            await self.fixture.log.wait(for: "webhook delivery failed for good")
        }
        #expect(!self.fixture.log.all.isEmpty)
        for word in ["hush-hush", "path-token", "query-token", "password", "token-in-answer"] {
            #expect(!self.fixture.log.all.contains { $0.contains(word) })
            #expect(try await !dispatcher.deadLetters().contains { "\($0)".contains(word) })
            #expect(try await !dispatcher.status().contains { "\($0)".contains(word) })
        }
        try await sink.close()
    }
}
