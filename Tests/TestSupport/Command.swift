// SPDX-License-Identifier: Apache-2.0

public import Foundation

/// A foreign program, run to its end.
///
/// Blocks the calling thread. A program that is missing fails as `env` does: exit status 127.
public enum Command {
    /// The end of a program.
    public struct Output: Sendable {
        /// The exit status; 137 for a program that hung and was killed.
        public let status: Int32
        /// Standard output.
        public let standardOutput: Data
        /// Standard error.
        public let standardError: String

        /// Standard output as text.
        public var text: String { String(decoding: self.standardOutput, as: UTF8.self) }
    }

    /// Runs a program found on the PATH, for 300 s at most, and gathers what it prints.
    ///
    /// Its output goes through files, so that no pipe fills up while another is read.
    public static func run(_ program: String, _ arguments: [String]) throws -> Output {
        let folder = try TemporaryFolder()
        defer { withExtendedLifetime(folder) {} }
        let paths = (output: try folder.file("output", []), errors: try folder.file("errors", []))
        let process = Process()
        process.executableURL = URL(filePath: "/usr/bin/timeout")
        process.arguments = ["-s", "KILL", "300", program] + arguments
        process.standardInput = FileHandle.nullDevice
        process.standardOutput = try FileHandle(forWritingTo: URL(filePath: paths.output))
        process.standardError = try FileHandle(forWritingTo: URL(filePath: paths.errors))
        try process.run()
        process.waitUntilExit()
        return Output(
            status: process.terminationStatus,
            standardOutput: try Data(contentsOf: URL(filePath: paths.output)),
            standardError: String(decoding: try Data(contentsOf: URL(filePath: paths.errors)), as: UTF8.self)
        )
    }

    /// A hash of each decoded picture of the first video track of a file, by ffmpeg.
    public static func pictures(_ path: String) throws -> [String] {
        let arguments = ["-nostdin", "-v", "error", "-i", path, "-map", "0:v:0", "-autoscale", "0"]
        return try Self.run("ffmpeg", arguments + ["-fps_mode", "passthrough", "-f", "framemd5", "-"]).text
            .split(separator: "\n")
            .filter { !$0.hasPrefix("#") }
            .compactMap { $0.split(separator: ",").last.map { String($0) } }
    }

    /// The complaints of ffmpeg about a file when it decodes all of it; empty if it has none.
    public static func complaints(about path: String) throws -> String {
        let output = try Self.run("ffmpeg", ["-nostdin", "-v", "error", "-i", path, "-map", "0", "-f", "null", "-"])
        return output.standardError + (output.status == 0 ? "" : "exit status \(output.status)")
    }
}
