// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Basics
import ConfigurationFile
import Foundation
import HTTPRequests
import Model
import Storage
import Synchronization

/// Where a command finds a recording.
enum FoundRecording {
    /// In a storage directory of this host.
    case here(RecordingFolder)
    /// On a host of the cluster, or behind the API that the command names: as the list has it.
    case shared(RecordingResource, DaemonClient)
}

/// Where a command looks for recordings: in the storage of this host, and through the running daemon.
struct RecordingPlaceOptions: ParsableArguments {
    @Option(help: "Storage directory of this host. Default: the configuration's, else the current folder.")
    var directory: String?

    @OptionGroup var daemon: DaemonOptions

    /// The storage directory of this host.
    var storage: String {
        get throws(CommandFailure) { try self.daemon.configuration.directory(or: self.directory) }
    }

    /// Whether the configuration names a cluster.
    var isOfCluster: Bool {
        get throws {
            try self.daemon.configuration.path.flatMap { try DaemonConfiguration.loadCluster(path: $0) } != nil
        }
    }

    /// The recording whose id begins so: in the storage directory, else on another host of the cluster.
    func find(_ id: String) async throws -> FoundRecording {
        let storage = try self.storage
        var isHere: StorageError?
        if self.daemon.api == nil {
            do throws(StorageError) {
                return .here(try RecordingFolder.find(storage: storage, id))
            } catch {
                isHere = error
            }
        }
        if let isHere {
            let mayBeElsewhere = isHere.code == .notFound && self.directory == nil && !id.contains("/")
            guard mayBeElsewhere, try self.isOfCluster else { throw isHere }
        }
        let client = try self.daemon.client()
        do {
            return .shared(try await client.recording(id), client)
        } catch var failure as CommandFailure where failure.code == .notJoined {
            // What is wrong may be the id, or that the daemon does not run.
            if let isHere { failure.message = "\(isHere.message); \(failure.message)" }
            throw failure
        }
    }
}

extension DaemonClient {
    /// The path of a recording.
    static func path(of recording: String) -> String { "/v1/recordings/\(PercentCoding.encode(recording))" }

    /// The recording whose id begins so, of those of all hosts.
    ///
    /// - Parameter otherwise: what follows if there is none, for the message.
    func recording(_ id: String, otherwise: String = "") async throws -> RecordingResource {
        let page: RecordingPage = try await self.get("/v1/recordings?limit=200&text=\(PercentCoding.encode(id))")
        let found = page.recordings.filter { $0.id.hasPrefix(id) }
        guard let first = found.first, !id.isEmpty else {
            let missing = ViewOptions.lines(page.incomplete)
            let text = ["there is no recording \(id) at \(self.base)"] + missing
            throw CommandFailure(missing.isEmpty ? .usage : .unavailable, text.joined(separator: "; ") + otherwise)
        }
        guard found.count == 1 else {
            let text = "\(found.count) recordings begin with \(id): give more of the id"
            throw CommandFailure(.usage, text + otherwise)
        }
        return first
    }

    /// Fetches a file of a recording to a path, where it appears when it is whole.
    func fetch(_ file: String, of recording: String, to path: String) async throws {
        let partial = path + ".partial"
        let target = try File(partial, .overwrite)
        defer { target.remove() }
        try target.truncate(to: 0)
        let written = Mutex<(bytes: UInt64, failure: StorageError?)>((0, nil))
        let name = "\(Self.path(of: recording))/files/\(PercentCoding.encode(file, keeping: "/"))"
        try await self.stream(name) { bytes in
            written.withLock { written in
                guard written.failure == nil else { return }
                do throws(StorageError) {
                    try target.write(Array(bytes), at: written.bytes)
                    written.bytes += UInt64(bytes.count)
                } catch {
                    written.failure = error
                }
            }
        }
        if let failure = written.withLock({ $0.failure }) { throw failure }
        try target.synchronise()
        try File.rename(partial, to: path)
    }
}

/// An export that another host makes.
struct SharedExport: Encodable {
    private struct Exports: Decodable {
        var exports: [ExportResource]
    }

    private static let pause = Duration.milliseconds(500)

    var recording: String
    var host: String?
    var layout: String
    /// The file here, or its name in the recording's folder there.
    var output: String
    var verdict: String?

    /// Orders an export, waits for it, and fetches the file if it is to be at a path.
    ///
    /// - Parameter draw: takes the progress, 0 to 1.
    init(
        _ spec: ExportSpec,
        of found: RecordingResource,
        _ client: DaemonClient,
        to path: String?,
        draw: (Double) -> Void
    ) async throws {
        let order: ExportResource = try await client.order("\(DaemonClient.path(of: found.id))/exports", spec)
        // That of a series belongs to its first segment.
        let place = DaemonClient.path(of: order.recording)
        let name = found.host.map { "the host \($0)" } ?? client.base
        var export = order
        while export.state != .done {
            // Before the first attempt it is what it waits for.
            if let error = export.error, export.state == .failed || export.attempts > 0 {
                let next = export.nextAttempt.map { "; the next attempt is at \($0)" } ?? ""
                throw CommandFailure(.incomplete, "\(name) did not make the export: \(error)\(next)")
            }
            draw(export.progress)
            try await Task.sleep(for: Self.pause)
            let all: Exports = try await client.get("\(place)/exports")
            guard let now = all.exports.first(where: { $0.id == order.id }) else {
                throw CommandFailure(.incomplete, "the export was withdrawn on \(name)")
            }
            export = now
        }
        guard let file = export.file else { throw CommandFailure(.incomplete, "\(name) does not name the file") }
        if let path { try await client.fetch(file, of: order.recording, to: path) }
        (self.recording, self.host, self.layout) = (order.recording, found.host, order.layout)
        self.output = path ?? file
        self.verdict = try await client.get(place, as: RecordingResource.self).verdict
    }
}
