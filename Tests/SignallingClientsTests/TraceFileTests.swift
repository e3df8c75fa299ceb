// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing

@testable import Signalling
@testable import SignallingClients

@Suite struct TraceFileTests {
    private static func inFolder(_ body: (String) throws -> Void) throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "trace-\(UUID().uuidString)").path
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        try body(folder)
    }

    private static func lines(_ path: String) throws -> [String] {
        try String(contentsOfFile: path, encoding: .utf8).split(separator: "\n").map(String.init)
    }

    private static func write(_ file: TraceFile, messages: Int) {
        file.begin(RoomURL.LAN(host: "h", isListening: true), options: SignallingOptions(policy: .oneShot))
        var machine = RoomURL.LAN(host: "h", isListening: true).makeMachine(SignallingOptions(policy: .oneShot))
        let inputs: [SignallingInput] =
            [.attempt(note: nil), .stream(.listening), .stream(.connected(peer: "h:1"))]
            + (0..<messages).map { _ in .stream(.received(Array(#"{"event":"?"}|"#.utf8))) }
        for input in inputs { file.write(input, machine.handle(input)) }
        file.write(note: "the end")
    }

    @Test func isForOwnerAndGroupAndReplays() throws {
        try Self.inFolder { folder in
            let path = folder + "/call.jsonl"
            Self.write(try TraceFile(path: path, program: "test 1"), messages: 2)
            let attributes = try FileManager.default.attributesOfItem(atPath: path)
            #expect(attributes[.posixPermissions] as? Int == 0o640)
            let lines = try Self.lines(path)
            #expect(lines.last?.contains("the end") == true)
            let replay = try TraceReplay(lines.joined(separator: "\n"))
            #expect(replay.program == "test 1" && replay.steps.count == 5 && replay.differences == 0)
        }
    }

    @Test func keepsWhatWasThere() throws {
        try Self.inFolder { folder in
            let path = folder + "/call.mkv"
            try Data("a call".utf8).write(to: URL(filePath: path))
            _ = try TraceFile(path: path, program: "test")
            #expect(try String(contentsOfFile: path + ".1", encoding: .utf8) == "a call")
        }
    }

    @Test func stopsAtItsLimitWithALine() throws {
        try Self.inFolder { folder in
            let path = folder + "/call.jsonl"
            Self.write(try TraceFile(path: path, program: "test", limit: 3000), messages: 100)
            let lines = try Self.lines(path)
            #expect(lines.last?.contains("the trace stops at 3000 bytes") == true)
            #expect(lines.joined().utf8.count < 3200)
            let replay = try TraceReplay(lines.joined(separator: "\n"))
            #expect(replay.isCut && replay.differences == 0)
        }
    }

    @Test func saysWhyItCannotBeMade() throws {
        try Self.inFolder { folder in
            let error = #expect(throws: TraceFileError.self) {
                try TraceFile(path: folder + "/missing/call.jsonl", program: "test")
            }
            #expect(error?.message.contains("No such file or directory") == true)
        }
    }
}
