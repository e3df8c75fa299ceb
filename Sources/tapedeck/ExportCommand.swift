// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Export
import Storage

/// `tapedeck export`.
struct ExportCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "export",
        abstract: "Makes one MKV of a recording: every track on one clock, nothing transcoded.",
        discussion: """
            Works on any recording, also on one that was cut off by a crash or still goes on.

            Example: tapedeck export recordings/standup/20261121T031226Z-k3v9q2wtb4n50xjc --output call.mkv
            Example: tapedeck export 20261121T031226Z --participant Alice --from 1m30s --to 00:05:00
            """
    )

    @Argument(help: "The recording's id, the beginning of it, or its folder.")
    var id: String

    @Option(help: "Storage directory in which an id is looked up.")
    var directory = "."

    @Option(help: "How the tracks are arranged: tracks (all side by side).")
    var layout: ExportLayout = .tracks

    @Option(help: "Only this participant: id or name, or the beginning of one.")
    var participant: String?

    @Option(help: "Where to begin, from the recording's start: 90s, 1m30s or 00:01:30. Pictures begin at a keyframe.")
    var from: TimeOffset?

    @Option(help: "Where to end, from the recording's start.")
    var to: TimeOffset?

    @Option(help: "Where the file goes; in the recording's folder if left out: call.mkv, for a part call-part.mkv.")
    var output: String?

    @OptionGroup var common: CommonOptions

    mutating func validate() throws {
        if let to = self.to?.duration, to <= (self.from?.duration ?? .zero) {
            throw ValidationError("--to has to be later than --from")
        }
    }

    mutating func run() async throws {
        do {
            let folder = try RecordingFolder.find(storage: self.directory, self.id)
            let progress = ExportProgressBar(isShown: !self.common.json)
            let report = try Exporter.run(
                folder: folder,
                layout: self.layout.layout,
                selection: ExportSelection(
                    participant: self.participant,
                    from: self.from?.duration,
                    to: self.to?.duration
                ),
                output: self.output
            ) {
                progress.draw($0)
            }
            let result = RecordResult(folder: folder, report: report)
            if self.common.json {
                try Output.json(result)
            } else {
                Output.result(result.output)
                Output.result(report.table())
                for warning in report.warnings { Output.message("note: \(warning)") }
            }
        } catch {
            throw CommandFailure(error)
        }
    }
}

/// A layout on the command line.
enum ExportLayout: String, ExpressibleByArgument, CaseIterable {
    case tracks

    var layout: Exporter.Layout { .tracks }
}
