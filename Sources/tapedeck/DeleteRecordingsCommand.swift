// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Basics
import Glibc
import Model
import Storage

/// `tapedeck recordings delete`.
struct DeleteRecordingsCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "delete",
        abstract: "Delete recordings with all their files.",
        discussion: """
            The running daemon deletes what it stores; where no daemon has the storage directory, this command does. A \
            recording in progress is refused. If one of several ids is wrong, nothing is deleted.

            Example: tapedeck recordings delete k3v9q2wtb4n50xjc --directory /var/lib/tapedeck
            """
    )

    @Argument(help: "Ids of recordings, or the beginning of each.")
    var ids: [String]

    @Option(help: "Storage directory. Default: the configuration's, else the current folder.")
    var directory: String?

    @OptionGroup var daemon: DaemonOptions
    @OptionGroup var common: CommonOptions

    private struct Deleted: Encodable {
        var deleted: String
    }

    mutating func run() async throws {
        do {
            let directory = try self.daemon.configuration.directory(or: self.directory)
            if self.daemon.api != nil || Self.isOthers(directory) {
                let client = try self.daemon.client()
                var found: [String] = []
                for id in self.ids {
                    found.append(try await client.recording(id, otherwise: "; nothing was deleted").id)
                }
                for id in found {
                    try await client.delete(DaemonClient.path(of: id))
                    try self.tell(id)
                }
            } else {
                let folders = try self.ids.map { try RecordingFolder.find(storage: directory, $0) }
                if let busy = folders.first(where: \.isHeld) {
                    throw CommandFailure(.usage, "the recording \(busy.id) is in progress: nothing was deleted")
                }
                for folder in folders {
                    try folder.delete()
                    try self.tell(folder.id.rawValue)
                }
            }
        } catch {
            throw CommandFailure(error)
        }
    }

    private func tell(_ id: String) throws {
        if self.common.json {
            try Output.json(Deleted(deleted: id))
        } else {
            Output.result("deleted \(id)")
        }
    }

    /// Whether a daemon has the directory, or another account.
    private static func isOthers(_ directory: String) -> Bool {
        let lock = try? File(directory + "/daemon.lock", .read)
        return lock?.isLocked() ?? false
            || access(directory + "/recordings", R_OK | W_OK | X_OK) != 0 && errno == EACCES
    }
}
