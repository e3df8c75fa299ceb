// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing

/// Runs the foreign programs that our files are tried on.
///
/// One that is missing fails the test.
enum Tool {
    struct Result {
        var status: Int32
        /// Standard output.
        var output: String
        /// Standard error.
        var errors: String
    }

    struct Folder: ~Copyable {
        let path: String

        init() throws {
            self.path = NSTemporaryDirectory() + "/matroska-tests-\(UUID().uuidString)"
            try FileManager.default.createDirectory(atPath: self.path, withIntermediateDirectories: true)
        }

        deinit {
            try? FileManager.default.removeItem(atPath: self.path)
        }

        func write(_ bytes: [UInt8], _ name: String) throws -> String {
            let file = self.path + "/" + name
            try Data(bytes).write(to: URL(fileURLWithPath: file))
            return file
        }
    }

    /// Runs a program to its end; its output goes through files, so that no pipe fills up.
    ///
    /// One that hangs is killed after 120 s.
    static func run(_ program: String, _ arguments: [String]) throws -> Result {
        let folder = try Folder()
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/timeout")
        process.arguments = ["-s", "KILL", "120", program] + arguments
        process.standardInput = FileHandle.nullDevice
        var handles: [FileHandle] = []
        for name in ["output", "errors"] {
            let path = try folder.write([], name)
            handles.append(try #require(FileHandle(forWritingAtPath: path)))
        }
        process.standardOutput = handles[0]
        process.standardError = handles[1]
        try process.run()
        process.waitUntilExit()
        func text(_ name: String) throws -> String {
            String(decoding: try Data(contentsOf: URL(fileURLWithPath: folder.path + "/" + name)), as: UTF8.self)
        }
        return Result(status: process.terminationStatus, output: try text("output"), errors: try text("errors"))
    }

    static func read(_ path: String) throws -> [UInt8] {
        Array(try Data(contentsOf: URL(fileURLWithPath: path)))
    }

    /// Decodes everything; returns what ffmpeg complains about.
    static func ffmpegComplaints(_ path: String) throws -> String {
        let result = try Self.run("ffmpeg", ["-v", "error", "-i", path, "-map", "0", "-f", "null", "-"])
        return result.status == 0 ? result.errors : "status \(result.status): \(result.errors)"
    }

    struct Probe {
        struct Stream: Decodable, Equatable {
            var codec_name: String
            var width: Int?
            var height: Int?
            var sample_rate: String?
            var channels: Int?
        }
        struct Packet: Decodable {
            var stream_index: Int
            var pts_time: String?
            var size: String
            var flags: String
        }
        struct Chapter: Decodable {
            var start_time: String
            var tags: [String: String]
        }
        struct Format: Decodable {
            var format_name: String
            var duration: String?
            var tags: [String: String]?
        }
        struct Document: Decodable {
            var streams: [Stream]
            var packets: [Packet]
            var chapters: [Chapter]
            var format: Format
        }
    }

    static func ffprobe(_ path: String) throws -> Probe.Document {
        let result = try Self.run(
            "ffprobe",
            [
                "-v", "quiet", "-of", "json", "-show_streams", "-show_packets", "-show_format", "-show_chapters",
                path,
            ]
        )
        #expect(result.status == 0)
        return try JSONDecoder().decode(Probe.Document.self, from: Data(result.output.utf8))
    }

    /// The number of buffers that GStreamer's demuxer gives out, over all its pads.
    static func gstreamerBuffers(_ path: String, pads: [String]) throws -> Int {
        // One run a pad: messages of several streaming threads at once get lost on the way to the terminal.
        try pads.map { pad in
            let result = try Self.run(
                "gst-launch-1.0",
                [
                    "-v", "filesrc", "location=\(path)", "!", "matroskademux", "name=d", "d.\(pad)", "!", "fakesink",
                    "silent=false", "sync=false", "async=false",
                ]
            )
            #expect(result.status == 0, "gst-launch-1.0: \(result.errors)")
            return result.output.split(separator: "\n").count { $0.contains("last-message = chain") }
        }.reduce(0, +)
    }
}
