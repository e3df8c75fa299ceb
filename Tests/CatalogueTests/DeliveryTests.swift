// SPDX-License-Identifier: Apache-2.0

import Catalogue
import Testing

@Suite struct DeliveryTests {
    private let storage: CatalogueStorage
    private let catalogue: Catalogue

    init() throws {
        self.storage = try CatalogueStorage()
        self.catalogue = try self.storage.open()
    }

    private func delivery(_ id: String, webhook: String = "one", second: Int = 0) -> DeliveryEntry {
        DeliveryEntry(
            id: id,
            webhook: webhook,
            event: "room.joined",
            body: [0, 1, 255],
            created: CatalogueStorage.time(second)
        )
    }

    @Test func comesOutInOrderWhenDue() async throws {
        #expect(try await self.catalogue.enqueue([self.delivery("a"), self.delivery("b")], limit: 10) == 0)
        let now = CatalogueStorage.time(0)
        #expect(try await self.catalogue.dueDelivery(of: "one", now: now) == self.delivery("a"))
        #expect(try await self.catalogue.dueDelivery(of: "two", now: now) == nil)
        let later = CatalogueStorage.time(60)
        try await self.catalogue.deliveryFailed("a", error: "no", due: later, deadLimit: 5)
        #expect(try await self.catalogue.dueDelivery(of: "one", now: now)?.id == "b")
        try await self.catalogue.deliveryDone("b")
        #expect(try await self.catalogue.dueDelivery(of: "one", now: now) == nil)
        #expect(try await self.catalogue.nextDue(of: "one") == later)
        let again = try #require(try await self.catalogue.dueDelivery(of: "one", now: later))
        #expect(again.attempts == 1 && again.error == "no")
        try await self.catalogue.deliveryDone("a")
        #expect(try await self.catalogue.nextDue(of: "one") == nil)
    }

    @Test func whatWaitedBeforeTheClockWasSetBackIsDue() async throws {
        _ = try await self.catalogue.enqueue([self.delivery("a", second: 86_400)], limit: 10)
        #expect(try await self.catalogue.dueDelivery(of: "one", now: CatalogueStorage.time(0))?.id == "a")
        #expect(try await self.catalogue.dueDelivery(of: "one", now: CatalogueStorage.time(80_000)) == nil)
    }

    @Test func dropsTheOldestOfEachWebhookAlone() async throws {
        let deliveries = (0..<6).map { self.delivery("\($0)", webhook: $0 < 4 ? "one" : "two") }
        #expect(try await self.catalogue.enqueue(deliveries, limit: 3) == 1)
        #expect(try await self.catalogue.dueDelivery(of: "one", now: CatalogueStorage.time(0))?.id == "1")
        let counts = try await self.catalogue.deliveryCounts()
        #expect(counts["one"]?.queued == 3 && counts["two"]?.queued == 2)
    }

    @Test func keepsTheNewestThatWereGivenUp() async throws {
        _ = try await self.catalogue.enqueue((0..<5).map { self.delivery("\($0)") }, limit: 10)
        for number in 0..<4 {
            try await self.catalogue.deliveryFailed("\(number)", error: "late", due: nil, deadLimit: 2)
        }
        try await self.catalogue.deliveryFailed("unknown", error: "late", due: nil, deadLimit: 2)
        #expect(try await self.catalogue.deadDeliveries().map(\.id) == ["3", "2"])
        #expect(try await self.catalogue.deadDeliveries(of: "one", limit: 1).map(\.id) == ["3"])
        #expect(try await self.catalogue.deadDeliveries(of: "two").isEmpty)
        let counts = try await self.catalogue.deliveryCounts()
        #expect(counts["one"]?.queued == 1 && counts["one"]?.dead == 2)
    }

    @Test func tellsWhatIsTriedNext() async throws {
        _ = try await self.catalogue.enqueue(["a", "b", "c"].map { self.delivery($0) }, limit: 10)
        #expect(try await self.catalogue.deliveryCounts()["one"]?.next == nil)
        let (soon, later) = (CatalogueStorage.time(60), CatalogueStorage.time(120))
        try await self.catalogue.deliveryFailed("a", error: "refused", due: later, deadLimit: 5)
        try await self.catalogue.deliveryFailed("b", error: "late", due: later, deadLimit: 5)
        try await self.catalogue.deliveryFailed("b", error: "late again", due: soon, deadLimit: 5)
        let next = try #require(try await self.catalogue.deliveryCounts()["one"]?.next)
        #expect(next.attempts == 2 && next.due == soon && next.error == "late again")
    }

    @Test func queuesAgain() async throws {
        _ = try await self.catalogue.enqueue([self.delivery("a")], limit: 10)
        let now = CatalogueStorage.time(100_000)
        await #expect { try await self.catalogue.requeueDelivery("a", now: now) } throws: {
            ($0 as? CatalogueError)?.code == .notFound
        }
        try await self.catalogue.deliveryFailed("a", error: "late", due: nil, deadLimit: 2)
        #expect(try await self.catalogue.requeueDelivery("a", now: now) == "one")
        let again = try #require(try await self.catalogue.dueDelivery(of: "one", now: now))
        #expect(again.attempts == 0 && again.created == now)
    }

    @Test func forgetsWebhooksThatAreGone() async throws {
        _ = try await self.catalogue.enqueue([self.delivery("a"), self.delivery("b", webhook: "two")], limit: 10)
        #expect(try await self.catalogue.removeDeliveries(exceptOf: ["two"]) == 1)
        #expect(try await self.catalogue.removeDeliveries(exceptOf: ["two"]) == 0)
        #expect(try await self.catalogue.deliveryCounts().keys.sorted() == ["two"])
    }

    /// A room that many join and leave while a receiver is down.
    @Test func dropsWhatPeersCanMakeAnyNumberOfFirst() async throws {
        let kinds = [
            "recording.finished", "participant.joined", "export.progress", "room.joined", "participant.left",
            "disk.low",
        ]
        for (number, kind) in kinds.enumerated() {
            var delivery = self.delivery("\(number)", second: number)
            delivery.event = kind
            #expect(try await self.catalogue.enqueue([delivery], limit: 4) == (number < 4 ? 0 : 1))
        }
        func left() async throws -> [String] {
            var left: [String] = []
            while let next = try await self.catalogue.dueDelivery(of: "one", now: CatalogueStorage.time(60)) {
                left.append(next.event)
                try await self.catalogue.deliveryDone(next.id)
            }
            return left
        }
        #expect(try await left() == ["recording.finished", "room.joined", "participant.left", "disk.low"])
        // Without any of them it is the oldest.
        for number in 0..<6 {
            var delivery = self.delivery("again \(number)", second: number)
            delivery.event = number < 2 ? "recording.finished" : "room.left"
            _ = try await self.catalogue.enqueue([delivery], limit: 5)
        }
        #expect(try await left() == ["recording.finished", "room.left", "room.left", "room.left", "room.left"])
    }
}
