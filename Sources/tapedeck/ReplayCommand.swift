// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Basics
import Foundation
import Signalling

/// `tapedeck replay`.
struct ReplayCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "replay",
        abstract: "Feed a trace of --trace-signalling to the protocol again, without a network.",
        discussion: """
            Prints each input with what the protocol said then and says now: = both, - then only, + now only. Secrets \
            are not in a trace and make no difference. Exit codes: 0 the same, 5 different, 2 no trace.

            Example: tapedeck record lan+tcp://0.0.0.0:5556?listen --trace-signalling call.jsonl
            Example: tapedeck replay call.jsonl --differences
            """
    )

    /// Larger than what we write, for traces of other limits.
    private static let maximumBytes = 256_000_000
    /// Longest piece of a value on a line of text.
    private static let maximumExcerpt = 160

    @Argument(help: "The trace.")
    var file: String

    @Flag(help: "Print only inputs with a different answer.")
    var differences = false

    @OptionGroup var common: CommonOptions

    /// One line of `--json`.
    private struct StepResult: Encodable {
        var line: Int
        var seconds: Double
        var input: String
        var recorded: [String]
        var replayed: [String]
        var equal: Bool
    }

    /// The last line of `--json`.
    private struct Result: Encodable {
        var `protocol`: String
        var url: String
        var program: String
        var inputs: Int
        var differences: Int
        var cut: Bool
    }

    func run() throws {
        let replay: TraceReplay
        do throws(TraceReplay.Failure) {
            replay = try TraceReplay(self.text())
        } catch {
            throw CommandFailure(.usage, "\(self.file): \(error.message)")
        }
        for step in replay.steps where !self.differences || !step.isEqual {
            if self.common.json { try self.printJSON(step) } else { self.print(step) }
        }
        let result = Result(
            protocol: replay.protocolName,
            url: replay.url,
            program: replay.program,
            inputs: replay.steps.count,
            differences: replay.differences,
            cut: replay.isCut
        )
        if self.common.json {
            try Output.json(result)
        } else {
            let cut = replay.isCut ? "; the trace was cut at its largest size" : ""
            Output.result("\(result.url): \(result.inputs) inputs, \(result.differences) differences\(cut)")
        }
        guard replay.differences == 0 else {
            throw CommandFailure(.incomplete, "the protocol says something else now in \(replay.differences) places")
        }
    }

    private func text() throws(TraceReplay.Failure) -> String {
        do {
            let handle = try FileHandle(forReadingFrom: URL(filePath: self.file))
            defer { try? handle.close() }
            let data = try handle.read(upToCount: Self.maximumBytes + 1) ?? Data()
            guard data.count <= Self.maximumBytes else {
                throw TraceReplay.Failure(message: "it is larger than \(Self.maximumBytes) bytes")
            }
            guard let text = String(validating: data, as: UTF8.self) else {
                throw TraceReplay.Failure(message: "it is not text")
            }
            return text
        } catch let failure as TraceReplay.Failure {
            throw failure
        } catch {
            throw TraceReplay.Failure(message: "it cannot be read: \(CommandFailure(error).message)")
        }
    }

    private func printJSON(_ step: TraceReplay.Step) throws {
        try Output.json(
            StepResult(
                line: step.line,
                seconds: step.seconds,
                input: step.input.text,
                recorded: step.recorded.map(\.text),
                replayed: step.replayed.map(\.text),
                equal: step.isEqual
            )
        )
    }

    private func print(_ step: TraceReplay.Step) {
        let seconds = String(format: "%10.3f", min(max(step.seconds, -1e9), 1e9))
        Output.result("\(seconds)  \(Self.excerpt(step.input))")
        guard !step.isEqual else {
            for action in step.replayed { Output.result("          =  \(Self.excerpt(action))") }
            return
        }
        for action in step.recorded { Output.result("          -  \(Self.excerpt(action))") }
        for action in step.replayed { Output.result("          +  \(Self.excerpt(action))") }
    }

    /// Transport and kind, then the rest of the object, shortened.
    private static func excerpt(_ value: JSONValue) -> String {
        let rest = (value.object ?? [:]).filter { !["direction", "transport", "kind"].contains($0.key) }
        let text = rest.isEmpty ? "" : JSONValue.object(rest).text
        let short = text.count > Self.maximumExcerpt ? "\(text.prefix(Self.maximumExcerpt))…" : text
        let words = [value["transport"]?.string, value["kind"]?.string].compactMap { $0 }
        // Names of a hostile trace are as long as its lines, and may steer a terminal.
        let name = words.joined(separator: " ").unicodeScalars.filter { $0.value >= 0x20 && $0.value != 0x7f }.prefix(
            40
        )
        return "\(String(String.UnicodeScalarView(name))) \(short)"
    }
}
