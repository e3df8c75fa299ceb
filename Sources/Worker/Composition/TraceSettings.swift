// SPDX-License-Identifier: Apache-2.0

internal import Basics
public import SignallingClients

/// Where the rooms of a process trace their signalling: one file for each room.
public struct TraceSettings: Sendable, Hashable {
    private let path: String
    private let program: String

    /// - Parameters:
    ///   - path: `traces/call.jsonl` becomes `traces/call-standup.jsonl` for the room `standup`.
    ///   - program: Name and version of this program.
    public init(path: String, program: String) {
        self.path = path
        self.program = program
    }

    /// The file of a room, or of one of several peers.
    ///
    /// - Throws: `TraceFileError` if it cannot be made.
    public func file(room: String) throws(TraceFileError) -> TraceFile {
        let name = Sanitiser.pathComponent(room, fallback: "room")
        let slash = self.path.lastIndex(of: "/") ?? self.path.startIndex
        let point = self.path[slash...].lastIndex(of: ".") ?? self.path.endIndex
        return try TraceFile(path: self.path[..<point] + "-" + name + self.path[point...], program: self.program)
    }
}
