// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
internal import Basics
import ConfigurationFile
import GStreamer
import PipelineCatalogue
import Terminal

/// `tapedeck pipelines`.
struct PipelinesCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "pipelines",
        abstract: "List captures, encoders and outputs, and what this host lacks for them.",
        discussion: """
            With --show it prints the text of one file, to be copied into a folder of one's own and changed. Ends with 2 \
            if a file has a mistake.

            Example: tapedeck pipelines
            Example: tapedeck pipelines --pipelines /etc/tapedeck/pipelines --json
            Example: tapedeck pipelines --show capture/v4l2 > /etc/tapedeck/pipelines/capture/door.yaml
            """
    )

    @Option(help: "Print the program's own file of that name, as KIND/NAME.")
    var show: String?

    @OptionGroup var files: PipelineOptions
    @OptionGroup var common: CommonOptions

    mutating func run() throws {
        if let path = self.show {
            guard let text = PipelineCatalogue.bundledText(path) else {
                throw CommandFailure(
                    .usage,
                    "the program has no pipeline file \(path); `tapedeck pipelines` lists them"
                )
            }
            Output.result(text.hasSuffix("\n") ? String(text.dropLast()) : text)
            return
        }
        let catalogue = try self.files.catalogue()
        do throws(GStreamerError) {
            try Runtime.initialise()
        } catch {
            throw CommandFailure(error)
        }
        let lines = catalogue.entries.map { Line($0) }
        if self.common.json {
            for line in lines { try Output.json(line) }
        } else {
            let header = ["PIPELINE", "ARGUMENT", "FROM", "MISSING HERE", "WHAT IT DOES"]
            let rows = lines.map { line in
                [
                    line.name, line.argument ?? "-", line.file == nil ? "program" : "folder",
                    line.missing.isEmpty ? "-" : line.missing.joined(separator: " "), line.description,
                ]
            }
            for line in TextTable.lines([header] + rows) { Output.result(line) }
        }
        let problems = Self.problems(of: catalogue)
        guard problems.isEmpty else {
            let lines = ["the pipeline files have errors"] + problems.map(\.description)
            throw CommandFailure(.usage, lines.joined(separator: "\n"))
        }
    }

    /// Everything that is wrong with the files on this host.
    static func problems(of catalogue: PipelineCatalogue) -> [ConfigurationProblem] {
        catalogue.entries.flatMap { entry in
            entry.file.hostFindings().map { finding in
                let path = if case .folder(let path) = entry.origin { path } else { entry.file.path }
                return ConfigurationProblem(file: path, key: finding.key, message: finding.message)
            }
        }
    }

    /// Every capture and output of the configuration whose file needs elements that are not installed here.
    static func problems(
        of configuration: DaemonConfiguration,
        _ catalogue: PipelineCatalogue,
        file path: String
    ) -> [ConfigurationProblem] {
        configuration.pipelineFiles(in: catalogue).compactMap { key, file in
            let missing = file.missingElements.joined(separator: ", ")
            guard !missing.isEmpty else { return nil }
            let message = "\(file.path) needs what is not installed here: \(missing)"
            return ConfigurationProblem(file: path, key: key, message: message)
        }
    }

    /// One file as it is listed.
    private struct Line: Encodable {
        struct Parameter: Encodable {
            var name: String
            var type: String
            var unit: String?
            var `default`: String?
            var minimum: Double?
            var maximum: Double?
            var required: Bool
            var description: String?
        }

        var name: String
        var description: String
        /// The operator's file; missing for those of the program.
        var file: String?
        var accepts: [String: [String]]
        var gives: [String: [String]]
        var argument: String?
        var rank: Int?
        var parameters: [Parameter]
        var missing: [String]

        init(_ entry: PipelineCatalogue.Entry) {
            func table(_ media: [MediaKind: [String]]) -> [String: [String]] {
                Dictionary(uniqueKeysWithValues: media.map { ($0.key.rawValue, $0.value) })
            }
            let file = entry.file
            self.name = file.path
            self.description = file.description
            if case .folder(let path) = entry.origin { self.file = path }
            self.accepts = table(file.accepts)
            self.gives = table(file.gives)
            self.argument = file.argument
            self.rank = file.kind == .encode ? file.rank : nil
            self.parameters = file.parameters.sorted { $0.key < $1.key }.map { name, parameter in
                Parameter(
                    name: name,
                    type: parameter.form.rawValue,
                    unit: parameter.unit?.rawValue,
                    default: parameter.defaultText,
                    minimum: parameter.minimum,
                    maximum: parameter.maximum,
                    required: parameter.isRequired,
                    description: parameter.description
                )
            }
            self.missing = file.missingElements
        }
    }
}
