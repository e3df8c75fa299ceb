// SPDX-License-Identifier: Apache-2.0

import Basics
import Catalogue
import Model
import Observability

/// One list of what the hosts of a cluster have; pure.
enum ClusterListing {
    /// What a host answered, or why it did not.
    typealias Answer<Value> = (host: String, result: Result<Value, PeerHost.Failure>)

    /// The rooms of all hosts, by name; those of hosts that do not answer as the cluster knows them.
    ///
    /// Of a room that several hosts are in, this host's own definition counts, then the host that the cluster names.
    static func rooms(
        _ own: [RoomResource],
        of host: String,
        _ answers: [Answer<[RoomResource]>],
        _ known: [ClusterResource.Room],
        definition: (String) -> JSONValue?
    ) -> RoomList {
        var found: [String: [RoomResource]] = [:]
        let (lists, missing) = Self.split(own, of: host, answers)
        for (name, rooms) in lists {
            for var room in rooms {
                room.host = name
                found[room.name, default: []].append(room)
            }
        }
        var owners: [String: String] = [:]
        for room in known {
            owners[room.name] = room.host
            guard found[room.name] == nil else { continue }
            let failure = missing.first { $0.host == room.host }
            found[room.name] = [Self.room(room, definition(room.name), failure)]
        }
        let rooms = found.sorted { $0.key < $1.key }.compactMap { name, rooms in
            rooms.first { $0.host == host && $0.origin != RoomRegistry.Origin.cluster.rawValue }
                ?? rooms.first { $0.host == owners[name] } ?? rooms.first
        }
        return RoomList(rooms, incomplete: missing)
    }

    /// A page of the recordings of all hosts, newest first; one that several have is the first's, this host before the others.
    ///
    /// - Parameter gone: hosts that cannot be asked.
    static func recordings(
        _ own: RecordingPage,
        of host: String,
        _ answers: [Answer<RecordingPage>],
        gone: [String],
        limit: Int
    ) -> RecordingPage {
        let (pages, silent) = Self.split(own, of: host, answers)
        let missing = gone.map { MissingHost(host: $0, reason: "it is not in the cluster at present") } + silent
        var rows: [(place: String, start: UTCTime, recording: RecordingResource)] = []
        var ids: Set<String> = []
        for (name, page) in pages {
            for var recording in page.recordings {
                let start = UTCTime(iso8601: recording.start)
                guard let start, ids.insert(recording.id).inserted else { continue }
                recording.host = name
                rows.append((RecordingListing.cursor(before: start), start, recording))
            }
        }
        rows.sort { ($0.start, $0.recording.id) > ($1.start, $1.recording.id) }
        // The next page begins before a microsecond: all of it is on this one, or none.
        var count = min(limit, rows.count)
        while count > 0, count < rows.count, rows[count - 1].place == rows[count].place { count -= 1 }
        if count == 0, let first = rows.first { count = rows.count { $0.place == first.place } }
        var page = RecordingPage(
            recordings: rows.prefix(count).map(\.recording),
            incomplete: missing.sorted { $0.host < $1.host }
        )
        if let last = rows.prefix(count).last, count < rows.count || pages.contains(where: { $0.value.next != nil }) {
            let ended = pages.first { $0.value.recordings.last?.id == last.recording.id }
            page.next = ended?.value.next ?? last.place
        }
        return page
    }

    /// The values that there are, this host's first, and the hosts that did not answer.
    private static func split<Value>(
        _ own: Value,
        of host: String,
        _ answers: [Answer<Value>]
    ) -> (values: [(host: String, value: Value)], missing: [MissingHost]) {
        var values = [(host: host, value: own)]
        var missing: [MissingHost] = []
        for (name, result) in answers {
            switch result {
            case .success(let value): values.append((name, value))
            case .failure(let failure): missing.append(MissingHost(host: name, reason: failure.description))
            }
        }
        return (values, missing)
    }

    /// A room of which only the cluster's keys are known.
    private static func room(
        _ room: ClusterResource.Room,
        _ definition: JSONValue?,
        _ failure: MissingHost?
    ) -> RoomResource {
        let phase: RoomResource.Phase =
            switch room.phase {
            case .joining: .joining
            case .joined: .joined
            case .unclaimed, .unknown: .idle
            }
        var reason = room.reason ?? "no host has it yet"
        if let host = room.host {
            let silence = failure.map { "the host \(host) does not answer: \($0.reason)" }
            reason = silence ?? "the host \(host) joins or leaves it"
        }
        var resource = RoomResource(
            name: room.name,
            url: Redaction.url(definition?["url"]?.string ?? ""),
            join: definition?["join"].map { $0.string ?? "schedule" } ?? "always",
            origin: (room.isLocal ? RoomRegistry.Origin.configuration : .cluster).rawValue,
            phase: phase,
            reason: reason
        )
        resource.host = room.host
        return resource
    }
}
