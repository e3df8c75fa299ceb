// SPDX-License-Identifier: Apache-2.0

import Basics
import Delivery
import FoundationEssentials
import Model
import Storage
import Timeline

/// Recordings of a series at the remote that the hosts of a cluster upload to: for these, their hosts are not needed.
struct RemoteParts: Sendable {
    /// A recording there that is whole: its manifest was sent last.
    struct Part: Sendable {
        /// The name of its folder.
        var name: String
        /// Where that is.
        var place: String
        var manifest: Manifest
    }

    /// What is there under a name, or why it does not count.
    enum Found: Sendable {
        case part(Part)
        /// It is whole, and none of the series.
        case other
        /// It says that it is of the series, and of another cluster.
        case foreign(cluster: String)
        /// It is not whole yet.
        case unfinished
    }

    let spec: UploadSpec
    let rclone: Rclone
    /// The cluster's name.
    let cluster: String

    private static let dayNanoseconds: Int64 = 86_400_000_000_000
    /// The most days of a series that are looked through.
    private static let mostDays = 400

    /// The folders of a room's recordings that began within a time, as names and places.
    func folders(ofRoom room: String, from: UTCTime, to: UTCTime) async throws(RemoteFailure) -> [String: String] {
        let room = Sanitiser.pathComponent(room, fallback: "room")
        var parents: [String] = []
        var day = from.nanosecondsSince1970
        for _ in 0..<Self.mostDays {
            // Any name of the day will do: the parent is the same.
            let name = UTCTime(nanosecondsSince1970: min(day, to.nanosecondsSince1970)).compact
            let parent = String(self.spec.folder(room: room, name: name).dropLast(name.count))
            if parents.last != parent { parents.append(parent) }
            guard day < to.nanosecondsSince1970 else { break }
            day += Self.dayNanoseconds
        }
        let (first, last) = (from.compact, to.compact)
        var found: [String: String] = [:]
        for parent in parents {
            for name in try await self.rclone.folders(in: parent) {
                let start = String(name.prefix(first.count))
                guard RecordingFolder.id(ofName: name) != nil, start >= first, start <= last else { continue }
                found[name] = parent + name
            }
        }
        return found
    }

    /// What a folder is for a series.
    func look(at name: String, _ place: String, for series: String) async throws -> Found {
        let path = place + "/manifest.json"
        guard try await self.rclone.look(path) != nil else { return .unfinished }
        let bytes = Data(try await self.rclone.read(path))
        // Each program with the right to write there may have written it.
        guard let manifest = try? JSONDecoder().decode(Manifest.self, from: bytes) else { return .unfinished }
        guard manifest.series == series, manifest.id == RecordingFolder.id(ofName: name) else { return .other }
        // Two clusters may upload to one remote.
        guard let claim = manifest.claim, claim.cluster == self.cluster else {
            return .foreign(cluster: manifest.claim?.cluster ?? "none")
        }
        return .part(Part(name: name, place: place, manifest: manifest))
    }
}
