// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing

/// The drivers' tests run one after another: they share the machine's processor with child processes, and one of them
/// counts descriptors.
@Suite(.serialized, .timeLimit(.minutes(5))) struct AllSignallingClients {}

/// What this process has open.
enum OpenDescriptors {
    /// The targets of every descriptor, such as `socket:[4711]`.
    static func list() throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").map { name in
            (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/" + name)) ?? "closed"
        }
    }

    /// The lines of proc(5)'s net/tcp for sockets with this port at either end that a process still holds.
    ///
    /// Other suites open sockets meanwhile; a port of one's own is told from theirs.
    static func tcpSockets(onPort port: Int) throws -> [String] {
        let end =
            ":" + String(repeating: "0", count: 4 - String(port, radix: 16).count)
            + String(port, radix: 16).uppercased()
        return try String(contentsOfFile: "/proc/self/net/tcp", encoding: .utf8).split(separator: "\n").compactMap {
            line in
            let fields = line.split(separator: " ")
            guard fields.count > 9, fields[1].hasSuffix(end) || fields[2].hasSuffix(end), fields[9] != "0" else {
                return nil
            }
            return String(line)
        }
    }

    /// Those of TCP sockets whose other end is a port of this host.
    static func sockets(to port: Int) throws -> [String] {
        let table = try String(contentsOfFile: "/proc/self/net/tcp", encoding: .utf8)
        // sl, local address, remote address, state, queues, timer, retransmissions, user, time-out, inode
        let connections = table.split(separator: "\n").dropFirst().map { $0.split(separator: " ") }
        let hexadecimal = String(port, radix: 16, uppercase: true)
        let suffix = ":" + String(repeating: "0", count: max(0, 4 - hexadecimal.count)) + hexadecimal
        let ours = Set(connections.filter { $0.count > 9 && $0[2].hasSuffix(suffix) }.map { "socket:[\($0[9])]" })
        return try self.list().filter(ours.contains)
    }

    /// How many belong to event loops, which sockets do not show.
    static func eventLoopCount() throws -> Int {
        try self.list().count { $0.hasPrefix("anon_inode:") }
    }
}
