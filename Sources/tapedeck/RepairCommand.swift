// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Catalogue
import ConfigurationFile
import Export
import Foundation
import Model
import Rendering
import Storage
import Synchronization
import Timeline

/// `tapedeck repair`.
struct RepairCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "repair",
        abstract:
            "Close and export recordings that a crash or a power cut left unfinished; rebuild the catalogue.",
        discussion: """
            Does nothing to recordings that are whole or that a process is writing, and deletes nothing that it cannot \
            read. It may be run at any time and again. Ends with exit code 5 if a recording or a file of one could not be \
            read: then it says which, and why.

            Each recording gets the exports of its room in the configuration, else call.mkv.

            Example: tapedeck repair --config /etc/tapedeck/tapedeck.yaml
            Example: tapedeck repair --directory /var/lib/tapedeck
            """
    )

    @OptionGroup var storage: StorageOptions

    @Option(help: "Repair only the recording of this id; may be given several times.")
    var only: [String] = []

    @Flag(inversion: .prefixedNo, help: "Export what was closed.")
    var export = true

    @Flag(help: ArgumentHelp("Say from time to time how many recordings were looked at.", visibility: .hidden))
    var pulse = false

    @Flag(help: ArgumentHelp("Write the manifests of recordings that are not exported.", visibility: .hidden))
    var manifests = false

    @OptionGroup var common: CommonOptions

    /// A line that shows the daemon that the repair is in progress.
    private struct Pulse: Encodable {
        /// Recordings looked at.
        var looked: Int
    }

    private struct Repaired: Encodable {
        var id: String
        var folder: String
        var room: String
        var files: [String]
        var unreadable: [String: String]
        /// The first of `outputs`.
        var output: String?
        var outputs: [String]
        var verdict: String?
    }

    mutating func run() async throws {
        // A terminal that is closed sends it to the daemon as well, which continues.
        if self.pulse { signal(SIGHUP, SIG_IGN) }
        do {
            let directory = try self.storage.directory
            try RecordingFolder.requireStorage(directory)
            // The usual configuration says nothing of another storage.
            let config = self.storage.given == nil ? self.storage.configuration.path : self.storage.configuration.config
            let rooms = try config.map { try DaemonConfiguration.load(path: $0).rooms } ?? [:]
            var active: Set<RecordingID> = []
            var failures = 0
            var told: Set<String> = []
            var unreadable = 0
            var missing = Set(self.only)
            let looked = Atomic(0)
            let pulse = self.pulse ? JobPulse { try? Output.json(Pulse(looked: looked.load(ordering: .relaxed))) } : nil
            defer { pulse?.stop() }
            for folder in try RecordingFolder.list(storage: directory) {
                guard self.isMeant(folder) else {
                    if folder.isHeld { active.insert(folder.id) }
                    continue
                }
                looked.add(1, ordering: .relaxed)
                missing.remove(folder.id.rawValue)
                do throws(ExportError) {
                    // A recording that is not exported or uploaded needs no manifest, which takes as long as an export.
                    let report = try RecordingRepair.finish(
                        folder,
                        onlyUnfinished: !self.export && !self.manifests
                    )
                    unreadable += report.unreadable.count
                    let room = (try? RecordingSummary.read(folder))?.room ?? ""
                    let specs = rooms[room]?.exportOrders ?? [ExportSpec()]
                    let exports = self.export && report.needsExport ? try Self.export(folder, specs) : []
                    if !report.wasFinished || !exports.isEmpty { try self.tell(folder, room, report, exports) }
                } catch {
                    if error.code == .busy { active.insert(folder.id) }
                    failures += error.code == .busy ? 0 : 1
                    told.insert(folder.path)
                    Output.message("\(folder.path): \(error.message)")
                }
            }
            let catalogue = try Catalogue.open(storage: directory)
            let report = try await catalogue.rebuild(active: active)
            try catalogue.close()
            for folder in report.unreadable where !told.contains(folder.path) {
                failures += 1
                Output.message("\(folder.path): \(folder.reason)")
            }
            if !self.common.json {
                let counts = "\(report.read) updated, \(report.kept) unchanged, \(report.forgotten) removed"
                Output.result("Catalogue: \(counts)")
            }
            if let id = missing.min() {
                throw CommandFailure(.usage, "there is no recording \(id) in \(directory)")
            }
            guard failures == 0 else {
                throw CommandFailure(.incomplete, "\(failures) recordings could not be repaired; they are as they were")
            }
            guard unreadable == 0 else {
                throw CommandFailure(.incomplete, "\(unreadable) files could not be read; they are as they were")
            }
        } catch {
            throw CommandFailure(error)
        }
    }

    private func isMeant(_ folder: RecordingFolder) -> Bool {
        self.only.isEmpty || self.only.contains(folder.id.rawValue)
    }

    private static func export(_ folder: RecordingFolder, _ specs: [ExportSpec]) throws(ExportError) -> [ExportReport] {
        let job = ExportJob(folder, program: Program.name, isStuck: ExportJob.giveUp)
        do {
            return try specs.map { try job.run($0) }
        } catch {
            throw error as? ExportError ?? ExportError(.storage, "\(error)", cause: error)
        }
    }

    private func tell(
        _ folder: RecordingFolder,
        _ room: String,
        _ report: RecordingRepair.Report,
        _ exports: [ExportReport]
    ) throws(ExportError) {
        if self.common.json {
            let line = Repaired(
                id: folder.id.rawValue,
                folder: folder.path,
                room: room,
                files: report.repaired,
                unreadable: report.unreadable,
                output: exports.first?.output,
                outputs: exports.map(\.output),
                verdict: exports.first?.verdict.rawValue
            )
            try? Output.json(line)
        } else {
            let result = exports.first.map { ", exported: \($0.verdict.title)" } ?? ""
            Output.result("\(folder.path): closed, \(report.repaired.count) files repaired\(result)")
            for (file, reason) in report.unreadable.sorted(by: { $0.key < $1.key }) {
                Output.result(Output.harmless("  \(file) is left as it is: \(reason)"))
            }
        }
    }
}
