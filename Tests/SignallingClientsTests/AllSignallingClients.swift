// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing

/// The drivers' tests run one after another: they share the machine's processor with child processes, and one of them
/// counts descriptors.
@Suite(.serialized, .timeLimit(.minutes(5))) struct AllSignallingClients {}

/// The open descriptors of this process.
enum OpenDescriptors {
    private static func names() throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd")
    }

    /// How many are TCP connections whose other end is a port of this host.
    static func connectionCount(to port: Int) throws -> Int {
        try self.names().count { name in
            var address = sockaddr_in()
            var length = socklen_t(MemoryLayout<sockaddr_in>.size)
            let status = withUnsafeMutablePointer(to: &address) { pointer in
                pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                    getpeername(Int32(name) ?? -1, $0, &length)
                }
            }
            return status == 0 && address.sin_family == sa_family_t(AF_INET)
                && Int(UInt16(bigEndian: address.sin_port)) == port
        }
    }

    /// The lines of proc(5)'s net/tcp for sockets with this port at either end that a process still holds.
    ///
    /// Other suites open sockets at the same time; the port distinguishes ours from theirs.
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

    /// How many belong to event loops, which have no other end.
    static func eventLoopCount() throws -> Int {
        try self.names().count { name in
            let target = try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/" + name)
            return target?.hasPrefix("anon_inode:") == true
        }
    }
}
