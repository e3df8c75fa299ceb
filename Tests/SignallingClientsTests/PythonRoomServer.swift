// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing

/// A room server in Python, as a child process; it is one of Tests/Peers.
final class PythonRoomServer: Sendable {
    /// The two servers; the raw value is the environment's folder.
    enum Kind: String, CaseIterable, Sendable, CustomTestStringConvertible {
        case engineIO3 = "socketio4"
        case engineIO4 = "socketio5"

        var testDescription: String { self.rawValue }
    }

    struct Failure: Error, CustomStringConvertible {
        let description: String
    }

    let port: Int
    private let process: Process

    /// A real room server on python-socketio.
    convenience init(_ kind: Kind, _ arguments: [String] = [], port: Int = 0) throws {
        try self.init(script: "socketio_room_server.py", environment: kind.rawValue, arguments, port: port)
    }

    /// A server that prints its port as JSON when it listens.
    ///
    /// - Parameter environment: The folder of its Python below `.venv`.
    init(script name: String, environment: String, _ arguments: [String], port: Int = 0) throws {
        let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent()
        let python = root.appending(path: ".venv/\(environment)/bin/python")
        guard FileManager.default.isExecutableFile(atPath: python.path) else {
            throw Failure(description: "\(python.path) is missing: run Tests/Peers/make_venvs.sh \(environment)")
        }
        let script = root.appending(path: "Tests/Peers/\(name)").path
        let output = Pipe()
        self.process = Process()
        self.process.executableURL = python
        self.process.arguments = [script, "--port", "\(port)"] + arguments
        self.process.standardOutput = output
        self.process.standardError = FileHandle.nullDevice
        try self.process.run()
        var line = Data()
        while line.last != UInt8(ascii: "\n") {
            let byte = try output.fileHandleForReading.read(upToCount: 1) ?? Data()
            guard !byte.isEmpty else { throw Failure(description: "The room server ended before it listened") }
            line += byte
        }
        guard let object = try JSONSerialization.jsonObject(with: line) as? [String: Int], let port = object["port"]
        else { throw Failure(description: "The room server did not print its port") }
        self.port = port
    }

    /// Ends the server at once, as a crash would, and waits for it.
    ///
    /// SIGKILL, because children of a Swift thread pool inherit its blocked signals.
    func stop() {
        guard self.process.isRunning else { return }
        kill(self.process.processIdentifier, SIGKILL)
        self.process.waitUntilExit()
    }

    deinit {
        self.stop()
    }
}
