// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Catalogue
import Export
import Storage

/// `tapedeck repair`.
struct RepairCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "repair",
        abstract: "Closes recordings that a crash or a power cut left unfinished, and makes the catalogue anew.",
        discussion: """
            Does nothing to recordings that are whole or that a process is writing, and deletes nothing that it cannot \
            read. It may be run at any time and again.

            Example: tapedeck repair /var/lib/tapedeck
            """
    )

    @Argument(help: "The storage directory.")
    var directory: String

    @OptionGroup var common: CommonOptions

    private struct Repaired: Encodable {
        var id: String
        var folder: String
        var room: String
        var files: [String]
        var unreadable: [String: String]
    }

    mutating func run() async throws {
        do {
            var active: Set<RecordingID> = []
            var failures = 0
            for folder in try RecordingFolder.list(storage: self.directory) {
                do throws(ExportError) {
                    let report = try RecordingRepair.finish(folder)
                    if !report.wasFinished { try self.tell(folder, report) }
                } catch {
                    if error.code == .busy { active.insert(folder.id) }
                    failures += error.code == .busy ? 0 : 1
                    Output.message("\(folder.path): \(error.message)")
                }
            }
            let catalogue = try Catalogue.open(storage: self.directory)
            let report = try await catalogue.rebuild(active: active)
            try catalogue.close()
            if !self.common.json {
                Output.result("catalogue: \(report.read) read, \(report.kept) as they were, \(report.forgotten) gone")
            }
            guard failures == 0 else {
                throw CommandFailure(.incomplete, "\(failures) recordings could not be repaired; they are as they were")
            }
        } catch {
            throw CommandFailure(error)
        }
    }

    private func tell(_ folder: RecordingFolder, _ report: RecordingRepair.Report) throws(ExportError) {
        let room = (try? RecordingSummary.read(folder))?.room ?? ""
        if self.common.json {
            let line = Repaired(
                id: folder.id.rawValue,
                folder: folder.path,
                room: room,
                files: report.repaired,
                unreadable: report.unreadable
            )
            try? Output.json(line)
        } else {
            Output.result("\(folder.path): closed, \(report.repaired.count) files mended")
            for (file, reason) in report.unreadable.sorted(by: { $0.key < $1.key }) {
                Output.result("  \(file) is left as it is: \(reason)")
            }
        }
    }
}
