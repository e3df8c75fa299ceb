// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing

/// The drivers' tests run one after another: they share the machine's processor with child processes, and one of them
/// counts descriptors.
@Suite(.serialized, .timeLimit(.minutes(5))) struct AllSignallingClients {}

/// What this process has open.
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

    /// How many belong to event loops, which have no other end.
    static func eventLoopCount() throws -> Int {
        try self.names().count { name in
            let target = try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/" + name)
            return target?.hasPrefix("anon_inode:") == true
        }
    }
}
