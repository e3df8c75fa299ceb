// SPDX-License-Identifier: Apache-2.0

import Glibc
import Testing

/// A Unix datagram socket as systemd or journald has one, bound for the life of the value.
final class DatagramReceiver {
    /// The sender's address: a path, or `@name`.
    let address: String
    private let descriptor: Int32

    init(isAbstract: Bool = false) throws {
        let name = "tapedeck-test-\(getpid())-\(UInt64.random(in: .min ... .max))"
        self.address = isAbstract ? "@\(name)" : "/tmp/\(name)"
        self.descriptor = socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        var bytes = Array(self.address.utf8)
        if isAbstract { bytes[0] = 0 }
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: bytes) }
        let length = socklen_t(MemoryLayout<sa_family_t>.size + bytes.count + (isAbstract ? 0 : 1))
        let result = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { bind(self.descriptor, $0, length) }
        }
        try #require(result == 0)
    }

    deinit {
        close(self.descriptor)
        if !self.address.hasPrefix("@") { unlink(self.address) }
    }

    /// The next datagram that has arrived; `nil` if there is none.
    func receive() -> [UInt8]? {
        var bytes = [UInt8](repeating: 0, count: 1 << 20)
        let count = recv(self.descriptor, &bytes, bytes.count, Int32(MSG_DONTWAIT))
        return count < 0 ? nil : Array(bytes.prefix(count))
    }

    /// The next datagram as lines of text; `nil` if there is none.
    func lines() -> [String]? {
        self.receive().map { String(decoding: $0, as: UTF8.self).split(separator: "\n").map(String.init) }
    }
}
