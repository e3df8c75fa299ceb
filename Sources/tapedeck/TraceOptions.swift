// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Foundation
import SignallingClients
import Worker

/// What is kept for a bug report.
struct TraceOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "Write every signalling message to this file, without secrets, for `tapedeck replay` and bug reports.",
            discussion: "An existing file is kept as FILE.1.",
            valueName: "file"
        )
    )
    var traceSignalling: String?

    /// The file, made at once.
    func file() throws -> TraceFile? {
        try self.traceSignalling.map { try TraceFile(path: $0, program: Self.program) }
    }

    /// Where each room of a process has its file.
    var settings: TraceSettings? {
        self.traceSignalling.map { TraceSettings(path: $0, program: Self.program) }
    }

    /// The same choice for a worker process.
    var arguments: [String] {
        self.traceSignalling.map {
            ["--trace-signalling", $0.hasPrefix("/") ? $0 : "\(FileManager.default.currentDirectoryPath)/\($0)"]
        } ?? []
    }

    private static var program: String { "tapedeck \(Program.version)" }
}
