// SPDX-License-Identifier: Apache-2.0

import Glibc

/// A Unix datagram socket that sends to one address and never waits.
final class DatagramSocket: Sendable {
    private let descriptor: Int32
    private let path: [UInt8]
    private let isAbstract: Bool

    /// A socket for a path, absolute or, with `@` in front, abstract; `nil` for a path that is none, or without
    /// descriptors left.
    init?(path: String) {
        var bytes = Array(path.utf8)
        self.isAbstract = bytes.first == UInt8(ascii: "@")
        if self.isAbstract { bytes[0] = 0 }
        guard bytes.count > 1, self.isAbstract || bytes[0] == UInt8(ascii: "/"), !bytes.dropFirst().contains(0),
            bytes.count < MemoryLayout.size(ofValue: sockaddr_un().sun_path)
        else { return nil }
        self.path = bytes
        let descriptor = socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0 else { return nil }
        self.descriptor = descriptor
    }

    deinit {
        close(self.descriptor)
    }

    /// Sends one datagram; whether it was taken.
    func send(_ bytes: [UInt8]) -> Bool {
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: self.path) }
        // An abstract name ends where the address ends; a path ends with a zero byte.
        let length = MemoryLayout<sa_family_t>.size + self.path.count + (self.isAbstract ? 0 : 1)
        let flags = Int32(MSG_NOSIGNAL) | Int32(MSG_DONTWAIT)
        return withUnsafePointer(to: &address) { address in
            address.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                while sendto(self.descriptor, bytes, bytes.count, flags, address, socklen_t(length)) < 0 {
                    guard errno == EINTR else { return false }
                }
                return true
            }
        }
    }
}
