// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing

/// A foreign program, run to its end.
enum Command {
    struct Output {
        var status: Int32
        var standardOutput: Data
        var standardError: String

        var text: String { String(decoding: self.standardOutput, as: UTF8.self) }
    }

    /// Runs a program found on the PATH and gathers what it prints; standard error goes through a file, so that
    /// neither pipe can fill up while the other is read.
    static func run(_ program: String, _ arguments: [String]) throws -> Output {
        let process = Process()
        process.executableURL = URL(filePath: "/usr/bin/env")
        process.arguments = [program] + arguments
        let errorFile = FileManager.default.temporaryDirectory.path + "/tapedeck-stderr-\(UUID().uuidString)"
        try Data().write(to: URL(filePath: errorFile))
        defer { try? FileManager.default.removeItem(atPath: errorFile) }
        let output = Pipe()
        process.standardInput = FileHandle.nullDevice
        process.standardOutput = output
        process.standardError = try FileHandle(forWritingTo: URL(filePath: errorFile))
        try process.run()
        let data = output.fileHandleForReading.readDataToEndOfFile()
        process.waitUntilExit()
        return Output(
            status: process.terminationStatus,
            standardOutput: data,
            standardError: (try? String(contentsOfFile: errorFile, encoding: .utf8)) ?? ""
        )
    }

    /// A hash of each decoded frame of the first video track.
    static func pictures(_ path: String) throws -> [String] {
        let arguments = ["-nostdin", "-v", "error", "-i", path, "-map", "0:v:0", "-autoscale", "0"]
        return try Self.run("ffmpeg", arguments + ["-fps_mode", "passthrough", "-f", "framemd5", "-"]).text
            .split(separator: "\n")
            .filter { !$0.hasPrefix("#") }
            .compactMap { $0.split(separator: ",").last.map { String($0) } }
    }

    /// ffmpeg's complaints about a file when it decodes all of it.
    static func complaints(about path: String) throws -> String {
        let output = try Self.run("ffmpeg", ["-nostdin", "-v", "error", "-i", path, "-map", "0", "-f", "null", "-"])
        return output.standardError + (output.status == 0 ? "" : "exit status \(output.status)")
    }
}

/// A part of what ffprobe prints as JSON.
struct Probe: Decodable {
    struct Stream: Decodable {
        var index: Int
        var codec_name: String
        var codec_type: String
        var width: Int?
        var height: Int?
        var tags: [String: String]?
    }

    struct Packet: Decodable {
        var stream_index: Int
        var pts_time: String?
        var flags: String

        var seconds: Double { self.pts_time.flatMap(Double.init) ?? .nan }
    }

    struct Format: Decodable {
        var duration: String?
        var tags: [String: String]?
    }

    var streams: [Stream]
    var packets: [Packet]
    var format: Format

    init(_ path: String) throws {
        let output = try Command.run(
            "ffprobe",
            [
                "-v", "error", "-of", "json", "-show_streams", "-show_format", "-show_packets", path,
            ]
        )
        #expect(output.standardError.isEmpty)
        self = try JSONDecoder().decode(Probe.self, from: output.standardOutput)
    }

    func times(_ stream: Int) -> [Double] {
        self.packets.filter { $0.stream_index == stream }.map(\.seconds)
    }
}
