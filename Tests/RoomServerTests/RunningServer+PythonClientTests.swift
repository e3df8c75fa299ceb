// SPDX-License-Identifier: Apache-2.0

import Basics
import Foundation
import Testing

@testable import RoomServer

extension RunningServer {
    /// Real Socket.IO clients of both protocol revisions.
    @Suite(.enabled(if: PythonVenv.arePrepared, "needs the venvs that Tests/Peers/make_venvs.sh makes"))
    struct PythonClientTests {
        @Test(arguments: ["socketio4", "socketio5"], ["polling", "websocket", "polling,websocket"])
        func callOfFourInARoomOfThree(venv: String, transports: String) async throws {
            try await withServer(capacity: 3) { port in
                let output = try await Self.run(venv, ["http://127.0.0.1:\(port)", transports])
                let result = try JSONValue(parsing: output)
                let last: JSONValue = .string(transports == "polling" ? "polling" : "websocket")
                #expect(result["transports"]?.object == ["ann": last, "ben": last, "cid": last, "dan": last])
                let ids = try #require(result["ids"]?.object)
                let ann = try #require(ids["ann"])
                let ben = try #require(ids["ben"])
                let cid = try #require(ids["cid"])
                let dan = try #require(ids["dan"])
                func joined(_ id: JSONValue, _ peers: [JSONValue]) -> JSONValue {
                    let details: [String: JSONValue] = [
                        "peers": .array(peers), "capacity": .integer(3), "mesh": .bool(true),
                    ]
                    return .array(["joined", "7", id, .object(details)])
                }
                func message(_ sender: JSONValue, _ data: [String: JSONValue]) -> JSONValue {
                    .array(["message", "7", .object(data.merging(["from": sender]) { $1 })])
                }
                let offer = message(ann, ["type": "offer", "sdp": "grüße 😀\r\n"])
                let answer = message(ann, ["type": "answer", "to": cid])
                let candidate = message(cid, ["type": "candidate", "label": .integer(0)])
                #expect(
                    result["events"]?["ann"]?.array == [
                        joined(ann, []), .array(["otherjoin", "7", ben]), .array(["otherjoin", "7", cid]), candidate,
                        .array(["bye", "7", ben]), .array(["otherjoin", "7", dan]), .array(["bye", "7", dan]),
                    ]
                )
                #expect(
                    result["events"]?["ben"]?.array == [
                        joined(ben, [ann]), .array(["otherjoin", "7", cid]), offer, candidate,
                        .array(["leaved", "7", ben]),
                    ]
                )
                // Cid leaves before or after it hears of Dan's end.
                #expect(
                    result["events"]?["cid"]?.array?.prefix(5) == [
                        joined(cid, [ann, ben]), offer, answer, .array(["bye", "7", ben]),
                        .array(["otherjoin", "7", dan]),
                    ]
                )
                let full = JSONValue.array(["full", "7", dan, .object(["capacity": .integer(3)])])
                #expect(result["events"]?["dan"]?.array == [full, joined(dan, [ann, cid])])
                try await waitForHealth(port: port) { $0["sessions"]?.integer == 0 && $0["rooms"]?.integer == 0 }
            }
        }

        /// Runs the script to its end; its standard output.
        private static func run(_ venv: String, _ arguments: [String]) async throws -> String {
            let process = Process()
            let output = Pipe()
            process.executableURL = PythonVenv.interpreter(venv)
            process.arguments = ["-c", SocketIOClientScript.text] + arguments
            process.standardOutput = output
            let (ends, continuation) = AsyncStream.makeStream(of: Int32.self)
            process.terminationHandler = {
                continuation.yield($0.terminationStatus)
                continuation.finish()
            }
            try process.run()
            // The output is smaller than a pipe holds, so the process ends without a reader.
            for await status in ends { #expect(status == 0) }
            return String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        }
    }
}

/// The interpreters of the foreign clients, at the repository's root.
private enum PythonVenv {
    static let arePrepared = ["socketio4", "socketio5"].allSatisfy {
        FileManager.default.isExecutableFile(atPath: interpreter($0).path)
    }

    static func interpreter(_ venv: String) -> URL {
        URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
            .appending(path: ".venv/\(venv)/bin/python")
    }
}
