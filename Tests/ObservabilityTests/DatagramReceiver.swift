// SPDX-License-Identifier: Apache-2.0

import Glibc
import Testing

/// A Unix datagram socket as systemd or journald has one, bound for the life of the value.
final class DatagramReceiver {
    /// What a sender is told: a path, or `@name`.
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

    /// The next datagram that has arrived and the first descriptor that came with it; `nil` if there is none.
    func receive() -> (bytes: [UInt8], descriptor: Int32?)? {
        var bytes = [UInt8](repeating: 0, count: 1 << 20)
        var control = [UInt8](repeating: 0, count: 64)
        return bytes.withUnsafeMutableBytes { buffer in
            control.withUnsafeMutableBytes { control -> (bytes: [UInt8], descriptor: Int32?)? in
                var vector = iovec(iov_base: buffer.baseAddress, iov_len: buffer.count)
                return withUnsafeMutablePointer(to: &vector) { vector in
                    var message = msghdr()
                    message.msg_iov = vector
                    message.msg_iovlen = 1
                    message.msg_control = control.baseAddress
                    message.msg_controllen = control.count
                    let count = recvmsg(self.descriptor, &message, Int32(MSG_DONTWAIT))
                    guard count >= 0 else { return nil }
                    let received = message.msg_controllen >= 20 ? control.load(fromByteOffset: 16, as: Int32.self) : nil
                    return (Array(buffer.prefix(count)), received)
                }
            }
        }
    }

    /// The next datagram as lines of text; `nil` if there is none.
    func lines() -> [String]? {
        self.receive().map { String(decoding: $0.bytes, as: UTF8.self).split(separator: "\n").map(String.init) }
    }
}
