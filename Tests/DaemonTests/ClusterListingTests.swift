// SPDX-License-Identifier: Apache-2.0

import Basics
import Catalogue
import Cluster
import HTTPRequests
import Model
import TestSupport
import Testing

@testable import Daemon

@Suite struct ClusterListingTests {
    private typealias Rooms = ClusterListing.Answer<[RoomResource]>
    private typealias Pages = ClusterListing.Answer<RecordingPage>

    private static let silence = PeerHost.Failure(description: "it does not answer in time")

    private static func room(_ name: String, origin: String = "cluster") -> RoomResource {
        RoomResource(
            name: name,
            url: "socketio+http://h/\(name)",
            join: "always",
            origin: origin,
            phase: .joined,
            since: "2026-11-30T09:00:00Z"
        )
    }

    private static func claim(_ name: String, _ host: String?, local: Bool = false) -> ClusterResource.Room {
        ClusterResource.Room(name: name, host: host, phase: host == nil ? .unclaimed : .joined, cost: 1, isLocal: local)
    }

    /// What the host `a` lists: its own rooms, the answer of `b`, and the owners that the cluster names.
    @Test(
        arguments: [
            (["hall"], "", ["hall": "a"], ["hall@a"]),
            ([], "hall", ["hall": "b"], ["hall@b"]),
            (["own"], "hall yard", ["hall": "b", "yard": "b", "own": "a"], ["hall@b", "own@a", "yard@b"]),
            // A handover: both are in the room.
            (["hall"], "hall", ["hall": "b"], ["hall@b"]),
            (["hall"], "hall", ["hall": "a"], ["hall@a"]),
            // A host that this one does not know as the owner, because its view is old.
            ([], "hall", [:], ["hall@b"]),
            (["hall"], "hall", ["hall": "c"], ["hall@a"]),
            // Rooms that no host lists.
            ([], "", ["hall": "a", "yard": "b"], ["hall@a?", "yard@b?"]),
        ] as [([String], String, [String: String], [String])]
    )
    func roomsOfTwoHosts(_ own: [String], _ other: String, _ owners: [String: String], _ wanted: [String]) {
        let list = ClusterListing.rooms(
            own.map { Self.room($0) },
            of: "a",
            [("b", .success(other.split(separator: " ").map { Self.room(String($0)) }))],
            owners.map { Self.claim($0.key, $0.value) }
        ) { _ in nil }
        #expect(list.rooms.map { "\($0.name)@\($0.host ?? "")\($0.since == nil ? "?" : "")" } == wanted)
        #expect(list.incomplete == nil)
    }

    /// At a loopback address of another machine a host would meet itself, and list its own rooms as those of the other one.
    @Test func aLoopbackAddressIsThatOfWhoeverAsks() async throws {
        var view = ClusterView(cluster: "calls")
        let addresses = [
            "a": "http://192.0.2.1:8330", "b": "http://192.0.2.2:8330", "c": "http://127.0.0.1:8330",
            "d": "http://localhost:1",
            "e": "https://[::1]:8330",
        ]
        for (name, url) in addresses {
            let record = HostRecord(url: url, version: "1", capacity: 1, boot: "other", life: name)
            let key = ClusterKey.host(name).text(cluster: "calls")
            let revision = Revision(1)
            _ = view.take(.put(StoredValue(key: key, value: record.text, created: revision, modified: revision)))
        }
        let others = PeerHost.others(than: "a", in: view, boot: "mine", token: nil, client: HTTPClient())
        #expect(others.map(\.name) == ["b", "c", "d", "e"])
        #expect(others.map(\.url) == ["http://192.0.2.2:8330", nil, nil, nil])
        await #expect(throws: PeerHost.Failure.self) { try await others[1].rooms() }
        // On one machine it is another daemon.
        let neighbours = PeerHost.others(than: "a", in: view, boot: "other", token: nil, client: HTTPClient())
        #expect(neighbours.map(\.url) == addresses.sorted { $0.key < $1.key }.dropFirst().map(\.value))
    }

    @Test func aRoomOfTheHostsOwnComesBeforeAnotherOfTheName() {
        let other: [Rooms] = [("b", .success([Self.room("hall")]))]
        let own = [Self.room("hall", origin: "configuration")]
        let list = ClusterListing.rooms(own, of: "a", other, [Self.claim("hall", "b")]) { _ in nil }
        #expect(list.rooms.map(\.host) == ["a"])
    }

    @Test func theRoomsOfAHostThatDoesNotAnswerAreAsTheClusterKnowsThem() throws {
        let text = #"{"url":"janus+ws://u:p@h/?room=1&token=x","join":{"schedule":"0 9 * * *"}}"#
        let definition = try JSONValue(parsing: text)
        var far = Self.claim("far", nil)
        far.reason = "no host takes rooms"
        let list = ClusterListing.rooms(
            [],
            of: "a",
            [("b", .failure(Self.silence)), ("c", .success([]))],
            [Self.claim("hall", "b"), far, Self.claim("own", "b", local: true)]
        ) { $0 == "hall" ? definition : nil }
        #expect(list.incomplete == [MissingHost(host: "b", reason: "it does not answer in time")])
        #expect(list.rooms.map(\.name) == ["far", "hall", "own"])
        #expect(list.rooms.map(\.phase) == [.idle, .joined, .joined])
        #expect(list.rooms.map(\.origin) == ["cluster", "cluster", "configuration"])
        let silence = "the host b does not answer: it does not answer in time"
        #expect(list.rooms.map(\.reason) == ["no host takes rooms", silence, silence])
        #expect(list.rooms.allSatisfy { $0.since == nil })
        #expect(list.rooms[1].url == "janus+ws://h/?room=1&token=***" && list.rooms[1].join == "schedule")
        #expect(list.rooms[2].url.isEmpty)
    }

    // MARK: Recordings

    private static func recording(_ id: Int, microsecond: Int64) -> RecordingResource {
        let start = UTCTime(nanosecondsSince1970: microsecond * 1000 + Int64(id % 1000))
        return RecordingResource(id: "r\(id)", room: "hall", start: start.iso8601, bytes: 1, state: "finished")
    }

    /// A page as a host gives it.
    private static func page(
        _ recordings: [(Int64, RecordingResource)],
        _ cursor: String?,
        _ limit: Int
    ) -> RecordingPage {
        let end = cursor.flatMap { Int64($0.dropFirst(), radix: 36) } ?? .max
        let rest = recordings.sorted { $0.0 > $1.0 }.filter { $0.0 < end }
        let rows = rest.prefix(limit)
        let next = rows.last.map { "r" + String($0.0, radix: 36) }
        return RecordingPage(recordings: rows.map(\.1), next: rest.count > limit ? next : nil)
    }

    /// Whatever hosts have recordings, and copies of each other's: all are listed once, newest first, however long pages are.
    @Test(arguments: 0..<50 as Range<UInt64>)
    func pagesOfHostsAreOneList(_ seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        let hosts = ["a", "b", "c"].prefix(Int.random(in: 1...3, using: &random))
        var had: [String: [(Int64, RecordingResource)]] = [:]
        var all: [String: Int64] = [:]
        for id in 0..<Int.random(in: 0...30, using: &random) {
            // Some begin in one microsecond, on different hosts.
            let time = Int64.random(in: 1_000_000...1_000_020, using: &random)
            for host in hosts.shuffled(using: &random).prefix(Int.random(in: 1...2, using: &random)) {
                guard had[host, default: []].allSatisfy({ $0.0 != time }) else { continue }
                had[host, default: []].append((time, Self.recording(id, microsecond: time)))
                all["r\(id)"] = time
            }
        }
        let limit = Int.random(in: 1...7, using: &random)
        var listed: [RecordingResource] = []
        var cursor: String?
        repeat {
            let pages = hosts.map { ($0, Self.page(had[$0] ?? [], cursor, limit)) }
            let others: [Pages] = pages.dropFirst().map { ($0.0, .success($0.1)) }
            let page = ClusterListing.recordings(pages[0].1, of: hosts[0], others, gone: [], limit: limit)
            // Those of one microsecond are on one page.
            #expect(page.recordings.count <= max(limit, hosts.count))
            listed += page.recordings
            cursor = page.next
        } while cursor != nil && listed.count < 100
        #expect(Set(listed.map(\.id)) == Set(all.keys) && listed.count == all.count)
        #expect(listed.map(\.start) == listed.map(\.start).sorted(by: >))
        #expect(listed.allSatisfy { row in had[row.host ?? ""]?.contains { $0.1.id == row.id } ?? false })
    }

    @Test func hostsWithoutAnAnswerAreNamed() {
        let page = ClusterListing.recordings(
            RecordingPage(recordings: [Self.recording(1, microsecond: 5)]),
            of: "a",
            [("c", .failure(Self.silence))],
            gone: ["b"],
            limit: 10
        )
        #expect(page.recordings.map(\.host) == ["a"])
        #expect(page.incomplete?.map(\.host) == ["b", "c"] && page.next == nil)
    }
}
