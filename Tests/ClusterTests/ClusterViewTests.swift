// SPDX-License-Identifier: Apache-2.0

import Cluster
import Testing

@Suite struct ClusterViewTests {
    private static func value(_ key: ClusterKey, _ text: String, _ revision: Int64) -> StoredValue {
        let revision = Revision(revision)
        return StoredValue(key: key.text(cluster: "calls"), value: text, created: revision, modified: revision)
    }

    private static func claim(_ host: String, _ revision: Int64) -> StoredValue {
        Self.value(.claim("r"), ClaimRecord(host: host, epoch: Int(revision), phase: .joined).text, revision)
    }

    private static func deletion(_ revision: Int64) -> StoreEvent {
        .delete(key: ClusterKey.claim("r").text(cluster: "calls"), Revision(revision))
    }

    private var view = ClusterView(cluster: "calls")

    private func owner(_ view: ClusterView) -> String? { view.claims["r"]?.record?.host }

    /// News of one key in every order: the highest revision counts.
    @Test func newsComeInAnyOrder() {
        let news: [StoreEvent] = [
            .put(Self.claim("a", 5)), Self.deletion(6), .put(Self.claim("b", 7)), Self.deletion(8),
        ]
        for last in 1...4 {
            let some = Array(news.prefix(last))
            let expected = ["a", nil, "b", nil][last - 1]
            for order in Self.permutations(some) {
                var view = self.view
                view.beginListing()
                _ = view.list([], at: Revision(1))
                for event in order + order { _ = view.take(event) }
                #expect(self.owner(view) == expected, "\(order.map(\.revision))")
                #expect(view.loads["a", default: 0] == (expected == "a" ? 1 : 0))
            }
        }
    }

    private static func permutations(_ events: [StoreEvent]) -> [[StoreEvent]] {
        guard let first = events.first else { return [[]] }
        return Self.permutations(Array(events.dropFirst())).flatMap { rest in
            (0...rest.count).map { rest.prefix($0) + [first] + rest.dropFirst($0) }
        }
    }

    @Test func aListingReplacesWhatAWatchLost() {
        var view = self.view
        view.beginListing()
        _ = view.list([Self.claim("a", 5)], at: Revision(5))
        view.beginListing()
        let change = view.list([Self.claim("b", 9)], at: Revision(9))
        #expect(self.owner(view) == "b" && change.rooms == ["r"])
        view.beginListing()
        #expect(view.list([Self.claim("b", 9)], at: Revision(12)).rooms.isEmpty, "nothing changed")
        view.beginListing()
        _ = view.list([], at: Revision(13))
        #expect(self.owner(view) == nil && view.loads["b"] == 0)
    }

    @Test func whatComesWhileAListingIsOnItsWayIsNewer() {
        var view = self.view
        view.beginListing()
        _ = view.list([Self.claim("a", 5)], at: Revision(5))
        view.beginListing()
        _ = view.take(nil, of: .claim("r"), at: Revision(7))
        _ = view.list([Self.claim("a", 5)], at: Revision(6))
        #expect(self.owner(view) == nil)
        view.beginListing()
        _ = view.take(.put(Self.claim("b", 9)))
        _ = view.list([], at: Revision(8))
        #expect(self.owner(view) == "b")
    }

    /// An answer that was late: the listing shows more.
    @Test func whatIsOlderThanAListingIsIgnored() {
        var view = self.view
        view.beginListing()
        _ = view.list([], at: Revision(10))
        _ = view.take(Self.claim("a", 9), of: .claim("r"), at: Revision(9))
        _ = view.take(.put(Self.claim("a", 9)))
        #expect(self.owner(view) == nil)
    }

    /// A store that was created again begins at revision 1, or somewhere else.
    @Test(arguments: [Int64(3), 60]) func anotherStoreReplacesEverything(revision: Int64) {
        var view = self.view
        view.beginListing()
        _ = view.list([Self.value(.meta, MetaRecord(id: "one").text, 40)], at: Revision(50))
        _ = view.take(.put(Self.claim("a", 90)))
        view.beginListing()
        let change = view.list([Self.value(.meta, MetaRecord(id: "two").text, 2)], at: Revision(revision))
        #expect(view.meta?.record?.id == "two" && change.meta)
        #expect(self.owner(view) == nil && change.rooms == ["r"])
    }

    @Test func hostsThatVanishAreNamed() {
        var view = self.view
        let record = ClusterDriver.record("b")
        let value = Self.value(.host("b"), record.text, 5)
        view.beginListing()
        _ = view.list([value], at: Revision(5))
        let change = view.take(.delete(key: value.key, Revision(6)))
        #expect(change.hosts && change.goneHosts.mapValues(\.record) == ["b": record])
        view.beginListing()
        _ = view.list([Self.value(.host("b"), record.text, 7)], at: Revision(7))
        view.beginListing()
        let listing = view.list([], at: Revision(8))
        #expect(listing.hosts && listing.goneHosts.isEmpty && view.hosts.isEmpty)
    }

    @Test func foreignKeysAreNamedAndCounted() {
        var view = self.view
        let foreign = (0..<500).map {
            StoredValue(key: "/tapedeck/calls/x/\($0)", value: "?", created: Revision(1), modified: Revision(1))
        }
        view.beginListing()
        _ = view.list(foreign + [Self.claim("a", 5)], at: Revision(5))
        #expect(view.foreignKeys.count == ClusterView.maximumForeignKeys)
        #expect(self.owner(view) == "a")
    }

    @Test func keysAreBounded() {
        var view = self.view
        let rooms = (0..<ClusterView.maximumKeys + 7).map { Self.value(.said("\($0)"), "", 1) }
        view.beginListing()
        _ = view.list(rooms, at: Revision(5))
        #expect(view.leftOut == 7)
        _ = view.take(.put(Self.claim("a", 6)))
        #expect(self.owner(view) == nil && view.leftOut == 8)
        view.beginListing()
        _ = view.list([Self.claim("a", 6)], at: Revision(7))
        #expect(self.owner(view) == "a" && view.leftOut == 0)
    }

    @Test func loadsFollowClaimsAndDefinitions() {
        var view = self.view
        view.beginListing()
        _ = view.list([Self.claim("a", 5)], at: Revision(5))
        #expect(view.loads == ["a": 1])
        _ = view.take(.put(Self.value(.room("r"), ClusterDriver.definition(#","cost":4"#), 6)))
        #expect(view.loads == ["a": 4])
        _ = view.take(.put(Self.claim("b", 7)))
        #expect(view.loads == ["a": 0, "b": 4])
        let local = ClaimRecord(host: "b", epoch: 8, phase: .joined, localCost: 2)
        _ = view.take(.put(Self.value(.claim("r"), local.text, 8)))
        #expect(view.loads["b"] == 2)
    }
}
